package statusz

import (
	"math"

	"github.com/spillway-go/spillway/throttle"
)

// slowDocument is what Config.Slow and SlowAuto do in the throttles of a row.
type slowDocument struct {
	Threshold  float64 `json:"threshold_seconds"`
	Gate       string  `json:"gate"`
	Closed     bool    `json:"closed"`
	Open       int64   `json:"open"`
	Oldest     float64 `json:"oldest_seconds"`
	WrittenOff int64   `json:"written_off"`
	Auto       bool    `json:"auto"`
	Learned    float64 `json:"learned_seconds"`
	Full       bool    `json:"full"`
}

// slowCallsDocument is the same for one priority.
type slowCallsDocument struct {
	Late        uint64 `json:"late"`
	Booked      uint64 `json:"booked"`
	WrittenOff  uint64 `json:"written_off"`
	WouldRefuse uint64 `json:"would_refuse"`
	Limit       int64  `json:"limit"`
}

// addSlow adds the state of an open throttle. Durations are the highest ones.
func (r *rowStats) addSlow(s *throttle.SlowStats) {
	r.slow.Slow = max(r.slow.Slow, s.Slow)
	r.slow.Learned = max(r.slow.Learned, s.Learned)
	r.slow.Oldest = max(r.slow.Oldest, s.Oldest)
	r.slow.Open += s.Open
	r.slow.WrittenOff += s.WrittenOff
	r.slow.Closed = r.slow.Closed || s.Closed
	r.slow.Auto = r.slow.Auto || s.Auto
	r.slow.Full = r.slow.Full || s.Full
}

// addSlow adds what Slow and SlowAuto do, if one of them is on.
func (d *throttleDocument) addSlow(r *rowStats) {
	s := &r.slow
	if s.Slow == 0 && !s.Auto {
		return
	}
	d.Slow = &slowDocument{
		Threshold: s.Slow.Seconds(), Gate: r.settings.gate, Closed: s.Closed, Open: s.Open,
		Oldest: math.Round(1000*s.Oldest.Seconds()) / 1000, WrittenOff: s.WrittenOff, Auto: s.Auto, Learned: s.Learned.Seconds(), Full: s.Full,
	}
	for p := range d.Priorities {
		c := slowCallsDocument(r.priorities[p].Slow)
		d.Priorities[p].Slow = &c
	}
}
