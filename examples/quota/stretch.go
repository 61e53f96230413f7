package main

import "time"

// mark is a moment, and how many calls there had been.
type mark struct {
	at    time.Time
	calls calls
}

// stretch is some time, and the calls in it.
type stretch struct {
	took  time.Duration
	calls calls
}

// mark remembers now. The clock is read first, so that no call of a stretch is older than the stretch.
func (s *story) mark() mark {
	at := time.Now()
	return mark{at, s.partner.of()}
}

// since returns what has been since a mark. The clock is read last, so that no call of the stretch is younger than it.
func (s *story) since(m mark) stretch {
	made := s.partner.of().minus(m.calls)
	return stretch{time.Since(m.at), made}
}

// perSecond is how many calls there were per second.
func (t stretch) perSecond() float64 { return float64(t.calls.made) / t.took.Seconds() }

// ofQuota is how many calls there were, of those that a quota allows.
func (t stretch) ofQuota(quota int) float64 { return t.perSecond() / float64(quota) }

// refused is how many calls the partner has refused, of all.
func (t stretch) refused() float64 {
	return float64(t.calls.refused) / float64(max(1, t.calls.made))
}

// most is how many calls a bucket that holds so many and is refilled with a quota can have granted within a stretch. The clock of a store may be
// a tick off at both ends.
func (t stretch) most(capacity, quota int) int {
	const tick = time.Millisecond
	return capacity + int(float64(quota)*(t.took+tick).Seconds())
}
