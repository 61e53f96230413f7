package feedback

import (
	"math"
	"time"
)

// Probability returns the probabilities of shedding at now, or at the last update if now is 0.
func (s *State) Probability(now time.Duration) (p [MaxPriorities]float64) {
	if !s.active.Load() {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now = max(now, s.at)
	age := float64(max(0, now-s.receivedAt)) / float64(s.lasts())
	fade := max(0, 1-age*age*age*age)
	for i, x := range s.levels {
		p[i] = -math.Expm1(-x) * fade
	}
	return p
}

// Summary is what the servers said lately.
type Summary struct {
	Known      bool // any report came in the last seconds
	Calm       bool // hardly any of them was of an overloaded server
	Overloaded bool // most of them were
	Doubted    bool // the servers reject far fewer calls than they say
}

// Summary returns what the servers said in the last seconds before now.
func (s *State) Summary(now time.Duration) Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at-now <= mostBehind {
		now = max(now, s.at)
	}
	if s.calm.Swap(false) {
		s.calmAt = now // since the last update, which may be long ago
	}
	sum := Summary{Calm: isRecent(now-s.calmAt, s.lasting), Doubted: s.doubted()}
	if s.active.Load() {
		recent := isRecent(now-s.receivedAt, s.lasts())
		sum.Overloaded = recent && s.overloaded > 0.5 && !sum.Doubted
		sum.Calm = sum.Calm && s.overloaded < 0.1
		sum.Known = recent
	}
	sum.Known = sum.Known || sum.Calm
	return sum
}

// mostBehind is how far the time of a reader may be behind, who looks at the begin of a bucket. If a time is later by
// more, the clock has jumped back.
const mostBehind = time.Minute

// isRecent reports whether what has an age still counts.
func isRecent(age, limit time.Duration) bool { return age <= limit && age >= -mostBehind }
