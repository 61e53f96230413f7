package shop

import (
	"encoding/json"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Totals are the counts since the shop was made.
type Totals struct {
	At    time.Time
	Kinds [throttle.StandardPriorities]KindTotals
	Sent  uint64 // calls that reached the backend
	Twin  backendTotals
}

// KindTotals are the counts of one kind of call. A call in flight is counted as offered only.
type KindTotals struct {
	Offered  uint64
	Served   uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // by the throttle
	Cached   uint64 // rejected or shed, and answered from the cache
	waits
}

// Totals returns the current counts.
func (s *Shop) Totals() Totals {
	s.counting.Lock()
	t := Totals{At: time.Now(), Kinds: s.kinds}
	s.counting.Unlock()
	t.Sent, t.Twin = s.backend.counts().taken, s.twin.counts()
	return t
}

// Sum returns the counts of all kinds together.
func (t *Totals) Sum() KindTotals {
	var sum KindTotals
	for _, k := range t.Kinds {
		sum.Offered += k.Offered
		sum.Served += k.Served
		sum.Rejected += k.Rejected
		sum.Shed += k.Shed
		sum.Cached += k.Cached
	}
	return sum
}

// Meter computes rates from the Totals of a shop. Use [NewMeter]. It is not safe for concurrent
// use.
type Meter struct {
	shop *Shop
	span time.Duration
	past []Totals // oldest first; the first is about as old as the span
}

// NewMeter returns a meter whose samples cover span, and begin no earlier than now. With a span of
// 0 a sample begins at the last Read.
func NewMeter(s *Shop, span time.Duration) *Meter {
	return &Meter{shop: s, span: span, past: []Totals{s.Totals()}}
}

// Read returns a sample that ends now. It can be up to a tenth shorter than the span, because the
// caller does not read at exact times.
func (m *Meter) Read() Sample {
	now := m.shop.Totals()
	for len(m.past) > 1 && now.At.Sub(m.past[1].At) >= m.span*9/10 {
		m.past = m.past[1:]
	}
	s := m.shop.sample(&m.past[0], &now)
	m.past = append(m.past, now)
	return s
}

// sample returns the rates between two Totals.
func (s *Shop) sample(from, to *Totals) Sample {
	span := to.At.Sub(from.At)
	perSecond := func(from, to uint64) Figure {
		if span <= 0 {
			return 0
		}
		return Figure(float64(to-from) / span.Seconds())
	}
	before, after := from.Sum(), to.Sum()
	sample := Sample{
		Millis: to.At.UnixMilli(), Span: span, Settings: s.Settings(),
		Offered: perSecond(before.Offered, after.Offered),
		Sent:    perSecond(from.Sent, to.Sent),
		Served:  perSecond(before.Served, after.Served),
		Shed:    perSecond(before.Shed, after.Shed),
		Twin:    TwinSample{Served: perSecond(from.Twin.served, to.Twin.served), Latency: to.Twin.since(from.Twin.waits)},
	}
	sample.Available = Figure(sample.Settings.Available())
	possible := min(sample.Offered, sample.Available)
	sample.Goodput = newRatio(sample.Served, possible)
	sample.Twin.Goodput = newRatio(sample.Twin.Served, possible)
	stats := s.Throttle().Stats()
	sample.Slow = Figure(stats.Slow.Slow.Seconds() * 1000)
	for i, kind := range Kinds() {
		a, b := from.Kinds[i], to.Kinds[i]
		served, ended := b.Served-a.Served, b.Served+b.Rejected+b.Shed-a.Served-a.Rejected-a.Shed
		sample.Kinds = append(sample.Kinds, KindSample{
			Kind: kind.Name, Priority: kind.Priority.String(),
			Offered: perSecond(a.Offered, b.Offered), Served: perSecond(a.Served, b.Served),
			Success: newRatio(Figure(served), Figure(ended)),
			Shed:    perSecond(a.Shed, b.Shed), Cached: perSecond(a.Cached, b.Cached),
			Latency:     b.since(a.waits),
			Probability: Figure(stats.Priorities[i].Probability), InFlight: stats.Priorities[i].InFlight,
		})
	}
	return sample
}

// Sample has the figures of a span of time. Rates are calls per second.
type Sample struct {
	Millis    int64         `json:"at"` // the end of the span, in milliseconds since 1970
	Span      time.Duration `json:"-"`  // its length
	Offered   Figure        `json:"offered"`
	Sent      Figure        `json:"sent"` // to the backend, which excludes shed calls
	Served    Figure        `json:"served"`
	Shed      Figure        `json:"shed"`
	Available Figure        `json:"available"` // that the backend could serve
	Goodput   Figure        `json:"goodput"`   // Served, as a part of the smaller of Offered and Available
	Twin      TwinSample    `json:"twin"`
	Kinds     []KindSample  `json:"kinds"` // by priority
	Slow      Figure        `json:"slow"`  // the Slow of the throttle, in milliseconds
	Settings  Settings      `json:"settings"`
}

// At returns the end of the span.
func (s *Sample) At() time.Time { return time.UnixMilli(s.Millis) }

// TwinSample has the figures of the backend without a throttle.
type TwinSample struct {
	Served  Figure `json:"served"`
	Goodput Figure `json:"goodput"`
	Latency Figure `json:"latency"`
}

// KindSample has the figures of one kind of call.
type KindSample struct {
	Kind        string `json:"kind"`
	Priority    string `json:"priority"`
	Offered     Figure `json:"offered"`
	Served      Figure `json:"served"`
	Success     Figure `json:"success"` // served by the backend, as a part of the calls that have ended
	Shed        Figure `json:"shed"`
	Cached      Figure `json:"cached"`
	Probability Figure `json:"probability"` // of shedding the next call; computed also while the throttle is off
	InFlight    int64  `json:"in_flight"`
	// Latency is how long calls waited for an answer or for their timeout, in milliseconds on average.
	Latency Figure `json:"latency"`
}

// Figure is a rate, a ratio from 0 to 1, or a time in milliseconds. It is NaN if it is not known.
type Figure float64

// newRatio returns part/whole, at most 1. Saved up work can make the part larger than the whole.
func newRatio(part, whole Figure) Figure {
	if whole <= 0 {
		return Figure(math.NaN())
	}
	return min(1, part/whole)
}

// Known reports whether the figure is a number.
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) }

// MarshalJSON writes the figure with four digits, to keep samples small, or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(math.Round(float64(f)*1e4) / 1e4)
}
