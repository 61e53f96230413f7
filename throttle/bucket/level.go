package bucket

import "time"

// Level is what a store keeps of a bucket: all there is to know beside its Limit. The zero Level is a full bucket.
type Level struct {
	// At is the time, in nanoseconds since 1970 by the store's clock, at which a Continuous bucket will be full, or at which the period
	// of a Fixed one began.
	At int64
	// Used is how many tokens a Fixed bucket has granted in that period. Less than none, which nobody can have granted, is none.
	Used int64
}

// Take takes at least atLeast and at most atMost tokens, or none, at a time in nanoseconds since 1970. It returns the level that follows, and what is
// to be answered. The limit must be valid; atLeast must be at most its capacity. A clock that has stepped back mints no tokens. A level that is
// further ahead than that of an empty bucket, because the clock was or because the limit was slower, is that of an empty one, and stays that from
// the first denial on.
func (v Level) Take(l Limit, now, atLeast, atMost int64) (Level, Decision) {
	m := meterOf(l)
	var d Decision
	v.take(&m, now, atLeast, atMost, &d)
	return v, d
}

// take is Take of a limit whose numbers are worked out, in place. The decision, which must be zero, is filled in place too: seven words that
// are handed up through several functions cost more than the arithmetic.
func (v *Level) take(m *meter, now, atLeast, atMost int64, d *Decision) {
	d.Limit = m.capacity
	if m.fixed {
		v.takeFixed(m, now, atLeast, atMost, d)
	} else {
		v.takeContinuous(m, now, atLeast, atMost, d)
	}
}

// takeContinuous is take for buckets that are refilled evenly.
func (v *Level) takeContinuous(m *meter, now, atLeast, atMost int64, d *Decision) {
	full := min(max(v.At, now), now+m.burst)
	free := now + m.burst - full
	there := free / m.interval
	granted := min(atMost, there)
	if granted < atLeast {
		d.Remaining = there
		d.ResetAfter = time.Duration(full - now)
		d.RetryAfter = time.Duration(atLeast*m.interval - free)
		if full < v.At { // kept in mind, or the bucket would be empty for as long as the clock was ahead
			*v = Level{At: full}
		}
		return
	}
	if granted > 0 {
		full += granted * m.interval
		*v = Level{At: full}
	}
	d.Allowed = true
	d.Granted = granted
	d.Remaining = there - granted
	d.ResetAfter = time.Duration(full - now)
	if granted < atMost {
		d.RetryAfter = time.Duration(m.interval - free%m.interval)
	}
}

// takeFixed is take for buckets that are filled once per period.
func (v *Level) takeFixed(m *meter, now, atLeast, atMost int64, d *Decision) {
	begins, used := now-now%m.period, int64(0)
	switch {
	case v.At > now+m.period: // of a clock that was far ahead: nobody knows what is left, and the next period is not far
		used = m.capacity
	case v.At >= begins:
		begins, used = v.At, max(0, v.Used)
	}
	left := max(0, m.capacity-used)
	reset := time.Duration(begins + m.period - now)
	granted := min(atMost, left)
	if granted < atLeast {
		d.Remaining, d.ResetAfter, d.RetryAfter = left, reset, reset
		if v.At > now+m.period {
			*v = Level{At: begins, Used: used}
		}
		return
	}
	if granted > 0 {
		*v = Level{At: begins, Used: used + granted}
	}
	d.Allowed = true
	d.Granted = granted
	d.Remaining = left - granted
	if used+granted > 0 {
		d.ResetAfter = reset
	}
	if granted < atMost {
		d.RetryAfter = reset
	}
}

// Return gives tokens back that were not needed. A bucket never gets more than full.
func (v Level) Return(l Limit, now, n int64) Level {
	l = l.WithDefaults()
	if l.Algorithm == Fixed {
		if v.Used <= 0 || v.At < now-now%int64(l.Period) {
			return v
		}
		return Level{At: v.At, Used: max(0, v.Used-max(0, n))}
	}
	n = min(max(0, n), l.Capacity)
	return Level{At: max(now, v.At-n*int64(l.Interval()))}
}

// Full reports whether the bucket is full, so that it can be forgotten.
func (v Level) Full(l Limit, now int64) bool {
	l = l.WithDefaults()
	if l.Algorithm == Fixed {
		return v.Used <= 0 || v.At <= now-int64(l.Period)
	}
	return v.At <= now
}
