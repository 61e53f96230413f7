package refill

import (
	"math"
	"math/bits"
)

// maxBack is how far the clock may step back before an entry counts as one of a wrong clock. Until
// the clock has caught up, the bucket adds no tokens.
const maxBack = 1_000_000_000

// Entry is how full a bucket is by one limit, and the rate of that limit. An entry without a rate
// has that of its reader.
type Entry struct {
	At       int64 // continuous: when the bucket will be full; fixed: when its period began
	Used     int64 // fixed: tokens used in that period; more than Capacity if another limit used them
	Interval int64 // continuous: nanoseconds per token, else 0
	Period   int64 // fixed: nanoseconds, else 0
	Capacity int64
}

// entry returns an entry that owes a number of tokens, at most the capacity. A fixed one also owes
// what it would have added in its period until now, since it adds that again when the period ends.
func (r *Rate) entry(now, owed int64) Entry {
	e := Entry{At: now + owed*r.interval, Interval: r.interval, Period: r.period, Capacity: r.capacity}
	if r.period > 0 {
		e.At = now - now%r.period
		part := e.part(now)
		e.Used = owed + min(part, math.MaxInt64-owed)
	}
	return e
}

// owns reports whether a limit of this rate has written the entry.
func (r *Rate) owns(e *Entry) bool {
	return e.Interval == r.interval && e.Period == r.period && e.Capacity == r.capacity
}

func (e *Entry) rated() bool { return e.Interval > 0 || e.Period > 0 }

// FullAt returns when the entry will be full, if no more tokens are taken.
func (e *Entry) FullAt() int64 {
	if e.Period > 0 && e.Used > 0 {
		return e.At + min(product((e.Used-1)/max(1, e.Capacity)+1, e.Period), math.MaxInt64-max(0, e.At))
	}
	return e.At
}

// owed returns the tokens used and not yet given back, rounded up. The entry is of the current
// period.
func (e *Entry) owed(now int64) int64 {
	if e.Period > 0 {
		return e.Used
	}
	return (max(0, e.At-now) + e.Interval - 1) / e.Interval
}

// charge takes tokens that another limit has granted, at most those that the entry has. Of a fixed
// entry it also takes what that adds when the period ends, as far as the period has passed. Else a
// bucket would grant at both rates.
func (e *Entry) charge(now, n int64) {
	switch {
	case e.Period > 0:
		most := e.Capacity + min(e.part(now), math.MaxInt64-e.Capacity)
		e.Used += max(0, min(n, most-e.Used))
	case e.Interval > 0:
		most := now + product(e.Capacity, e.Interval)
		e.At = max(e.At, min(max(e.At, now)+product(n, e.Interval), most))
	}
}

// part returns the capacity of a fixed entry times the part of its period that has passed.
func (e *Entry) part(now int64) int64 {
	high, low := bits.Mul64(uint64(max(0, e.Capacity)), uint64(min(max(0, now-e.At), e.Period-1)))
	part, _ := bits.Div64(high, low, uint64(e.Period))
	return int64(part)
}

// update makes an entry empty that is further ahead than its own limit can have brought it: the
// clock has stepped back since. It reports whether it has. Otherwise it begins the current period of a
// fixed entry.
func (e *Entry) update(now int64) bool {
	ahead := e.At - now - maxBack
	switch {
	case e.Period > 0 && ahead > e.Period:
		e.At, e.Used = now-now%e.Period, max(e.Used, e.Capacity)
	case e.Interval > 0 && ahead > 0 && (ahead-1)/e.Interval >= e.Capacity:
		e.At = now + product(e.Capacity, e.Interval)
	default:
		if e.Period > 0 {
			e.turn(now)
		}
		return false
	}
	return true
}

// turn begins the current period of a fixed entry. Each period gives back a capacity.
func (e *Entry) turn(now int64) {
	begin := now - now%e.Period
	e.Used = max(0, e.Used)
	if e.At >= begin {
		return
	}
	if past := (begin-e.At-1)/e.Period + 1; past > e.Used/max(1, e.Capacity) {
		e.Used = 0
	} else {
		e.Used -= past * e.Capacity
	}
	e.At = begin
}

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
