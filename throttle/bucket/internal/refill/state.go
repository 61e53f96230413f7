package refill

// State is the state of one bucket. The zero State is a full bucket. While processes have different
// limits it has an entry for each of two limits. Every grant is charged to both, each entry adds
// tokens at its own rate only, and holds at most its own capacity.
type State struct {
	Entry       // of the limit that wrote the state last
	Other Entry // of another limit; dropped once it is full
}

// FullAt returns when the bucket will be full, if no more tokens are taken.
func (s *State) FullAt() int64 { return max(s.Entry.FullAt(), s.Other.FullAt()) }

// arrange brings the entry of the rate to the front. If it is missing, it is added, and arrange
// reports that. It then owes what the other limit is owed, at most its own capacity. If two other limits are
// in use, it replaces the entry with the smaller capacity, and does not have more tokens than both.
func (s *State) arrange(r *Rate, now int64) (added bool) {
	if r.owns(&s.Other) {
		s.Entry, s.Other = s.Other, s.Entry
	}
	if s.Other.FullAt() <= now {
		s.Other = Entry{}
	}
	if r.owns(&s.Entry) {
		return false
	}
	if s.Entry.FullAt() <= now || s.Other.Capacity > s.Capacity {
		s.Entry, s.Other = s.Other, s.Entry
	}
	if s.Other.FullAt() <= now {
		s.Other = Entry{}
	}
	if !s.rated() { // a full bucket
		s.Entry = r.entry(now, 0)
		s.Used = 0
		return false
	}
	owed := s.owed(now)
	if s.Other.rated() {
		more := max(0, r.capacity-s.Other.Capacity)
		owed = min(owed, s.Other.owed(now)+min(more, maxOwed))
	}
	s.Entry, s.Other = r.entry(now, min(r.capacity, owed)), s.Entry
	return true
}

// Full reports whether the bucket is full. The rate is for a state without one.
func (r *Rate) Full(s *State, now int64) bool {
	mine := *s
	if !mine.rated() {
		mine.Period, mine.Capacity = r.period, r.capacity
	}
	return mine.FullAt() <= now
}

// Return gives back n tokens of any limit to the first entry. A bucket never holds more than its
// capacity.
func (r *Rate) Return(s *State, now, n int64) {
	interval, period := s.Interval, s.Period
	if !s.rated() {
		interval, period = r.interval, r.period
	}
	n = max(0, n)
	switch {
	case period > 0:
		if s.Used > 0 && s.At >= now-now%period {
			s.Used = max(0, s.Used-n)
		}
	case s.At > now:
		s.At -= min(n, (s.At-now)/interval+1) * interval
		s.At = max(now, s.At)
	}
}
