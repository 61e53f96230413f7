package bucket

import "time"

// Level is what a store keeps of a bucket: all there is to know beside its Limit. The zero Level is a full bucket.
type Level struct {
	// At is the time, in nanoseconds since 1970 by the store's clock, at which a Continuous bucket will be full, or at which the period
	// of a Fixed one began.
	At int64
	// Used is how many tokens a Fixed bucket has granted in that period.
	Used int64
}

// Take takes at least min and at most max tokens, or none, at a time in nanoseconds since 1970. It returns the level that follows, and what is
// to be answered. The limit must be valid; min must be at most its capacity. A clock that has stepped back mints no tokens; one that was
// far ahead keeps nobody waiting for longer than an empty bucket would.
func (v Level) Take(l Limit, now, atLeast, atMost int64) (Level, Decision) {
	l = l.WithDefaults()
	if l.Algorithm == Fixed {
		return v.takeFixed(&l, now, atLeast, atMost)
	}
	return v.takeContinuous(&l, now, atLeast, atMost)
}

// takeContinuous is Take for buckets that are refilled evenly.
func (v Level) takeContinuous(l *Limit, now, atLeast, atMost int64) (Level, Decision) {
	interval := int64(l.interval())
	burst := l.Capacity * interval
	full := min(max(v.At, now), now+burst)
	free := now + burst - full
	granted := min(atMost, free/interval)
	if granted < atLeast {
		return v, Decision{
			Limit: l.Capacity, Remaining: free / interval, ResetAfter: time.Duration(full - now),
			RetryAfter: time.Duration(atLeast*interval - free),
		}
	}
	full += granted * interval
	next := Level{At: full}
	if granted == 0 {
		next = v
	}
	d := Decision{
		Allowed: true, Granted: granted, Limit: l.Capacity, Remaining: (now + burst - full) / interval, ResetAfter: time.Duration(full - now),
	}
	if granted < atMost {
		d.RetryAfter = time.Duration(interval - (now+burst-full)%interval)
	}
	return next, d
}

// takeFixed is Take for buckets that are filled once per period.
func (v Level) takeFixed(l *Limit, now, atLeast, atMost int64) (Level, Decision) {
	period := int64(l.Period)
	begins, used := now-now%period, int64(0)
	switch {
	case v.At > now+period: // of a clock that was far ahead: nobody knows what is left, and the next period is not far
		used = l.Capacity
	case v.At >= begins:
		begins, used = v.At, v.Used
	}
	left := max(0, l.Capacity-used)
	reset := time.Duration(begins + period - now)
	granted := min(atMost, left)
	if granted < atLeast {
		return v, Decision{Limit: l.Capacity, Remaining: left, ResetAfter: reset, RetryAfter: reset}
	}
	next := Level{At: begins, Used: used + granted}
	if granted == 0 {
		next = v
	}
	d := Decision{Allowed: true, Granted: granted, Limit: l.Capacity, Remaining: left - granted}
	if next.Used > 0 {
		d.ResetAfter = reset
	}
	if granted < atMost {
		d.RetryAfter = reset
	}
	return next, d
}

// Return gives tokens back that were not needed. A bucket never gets more than full.
func (v Level) Return(l Limit, now, n int64) Level {
	l = l.WithDefaults()
	if l.Algorithm == Fixed {
		if v.At < now-now%int64(l.Period) {
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
		return v.Used == 0 || v.At <= now-int64(l.Period)
	}
	return v.At <= now
}
