package feedback

import "time"

// forget sets the state of a client that has received nothing of an overload.
func (s *State) forget() {
	s.levels, s.overloaded, s.judged, s.expected, s.rejected = [MaxPriorities]float64{}, 0, false, 0, 0
	s.active.Store(false)
	s.gap = 0
}

// lasts returns how long a report counts now: longer if reports are rare.
func (s *State) lasts() time.Duration {
	return min(max(s.lasting, lastingReports*s.gap), longestLasting)
}

// Forget forgets what was received of an overload.
func (s *State) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = sums{}
	s.forget()
}
