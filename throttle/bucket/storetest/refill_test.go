package storetest

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func timeFaults() []fault {
	return []fault{
		{"returns no ResetAfter", []string{"take/decides as Level.Take does"}, changesDecision(func(d *bucket.Decision) { d.ResetAfter = 0 })},
		{"returns ResetAfter in whole seconds", []string{"refill/adds tokens evenly"}, changesDecision(func(d *bucket.Decision) { d.ResetAfter = d.ResetAfter.Truncate(time.Second) })},
		{"returns no RetryAfter", []string{"retry/RetryAfter is long enough", "retry/a partial grant has a RetryAfter"}, changesDecision(func(d *bucket.Decision) { d.RetryAfter = 0 })},
		{"returns a RetryAfter that is too short", []string{"retry/RetryAfter is long enough"}, changesDecision(func(d *bucket.Decision) { d.RetryAfter = max(0, d.RetryAfter-time.Microsecond) })},
		{"returns a RetryAfter that is too long", []string{"retry/RetryAfter is not too long"}, changesDecision(func(d *bucket.Decision) { d.RetryAfter *= 2 })},
		{"has a clock that is one percent slow", []string{"refill/adds tokens evenly"}, clock(func(now, begun time.Time, _ int) time.Time { return begun.Add(now.Sub(begun) * 99 / 100) })},
		{"has a clock that stopped", []string{"refill/never exceeds the capacity"}, clock(func(_, begun time.Time, _ int) time.Time { return begun })},
		{"has handles with clocks of their own", []string{"history/is linearizable while tokens are added"}, clock(func(now, _ time.Time, handle int) time.Time { return now.Add(time.Duration(handle) * time.Second) })},
		{"fills too quickly by a rounded nanosecond", []string{"extreme/a fractional interval"}, tryTake(func(r *store.Request) {
			if l := &r.Limit; l.Algorithm == bucket.Continuous && l.Refill > 1 {
				l.Refill, l.Period = 1, max(1, l.Period/time.Duration(l.Refill))
			}
		})},
		{"keeps tokens above the capacity", []string{"refill/never exceeds the capacity"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			if r.Limit.Algorithm == bucket.Continuous && v != (store.Level{}) {
				extra := max(0, now-v.At) / int64(r.Limit.Interval())
				r.Limit.Capacity += min(extra, r.Limit.Capacity)
			}
			return v.Take(r.Limit, now, r.Min, r.Max)
		})},
		{"begins fixed periods with the first request", []string{"refill/Fixed periods are aligned"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			l := r.Limit
			if l.Algorithm != bucket.Fixed {
				return v.Take(l, now, r.Min, r.Max)
			}
			if v.At <= now-int64(l.Period) {
				v = store.Level{At: now}
			}
			grid := now - now%int64(l.Period)
			next, d := store.Level{At: grid, Used: v.Used}.Take(l, grid+now-v.At, r.Min, r.Max)
			return store.Level{At: v.At, Used: next.Used}, d
		})},
		{"treats Fixed as Continuous", []string{"refill/a Fixed bucket fills when a period begins"}, tryTake(func(r *store.Request) { r.Limit.Algorithm = bucket.Continuous })},
		{"never counts what a fixed bucket grants", []string{"history/is linearizable across periods"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if r.Limit.Algorithm == bucket.Fixed {
				next = v
			}
			return next, d
		})},
	}
}
