package storetest

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// limits breaks which limit counts.
func limits(change func(l *bucket.Limit)) func(*recorder) func() bucket.Store {
	return shared(func(s *storage) {
		s.limit = func(r bucket.Request) bucket.Limit {
			change(&r.Limit)
			return r.Limit.WithDefaults()
		}
	})
}

func timeMutants() []mutant {
	return []mutant{
		{"has a clock of whole 10 milliseconds", []string{"refill/comes back evenly", "retry/who waits for RetryAfter is granted"}, each(func(b *broken, _ int) {
			b.now = func() int64 { return time.Now().Truncate(10 * time.Millisecond).UnixNano() }
		})},
		{"has a clock that is one percent slow", []string{"refill/comes back evenly"}, each(func(b *broken, _ int) {
			begun := time.Now()
			b.now = func() int64 { return begun.Add(time.Since(begun) * 99 / 100).UnixNano() }
		})},
		{"has a clock that stands", []string{"refill/never above capacity", "refill/a fixed bucket is filled at once"}, each(func(b *broken, _ int) {
			b.now = func() int64 { return 1_800_000_000_000_000_000 }
		})},
		{"has handles with clocks of their own", []string{"rate/not one too many and none lost in any time"}, each(func(b *broken, handle int) {
			b.now = func() int64 { return time.Now().Add(time.Duration(handle) * time.Second).UnixNano() }
		})},
		{"fills too quickly by a rounded nanosecond", []string{"extreme/a rate that is no whole number"}, takes(func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			if l := r.Limit; l.Algorithm == bucket.Continuous && l.Refill > 1 {
				r.Limit.Refill, r.Limit.Period = 1, max(1, l.Period/time.Duration(l.Refill))
			}
			return v.Take(r.Limit, now, r.Min, r.Max)
		})},
		{"fills twice as quickly", []string{"rate/not one too many and none lost in any time", "refill/comes back evenly"}, limits(func(l *bucket.Limit) {
			if l.Algorithm == bucket.Continuous {
				l.Refill *= 2
			}
		})},
		{"saves up what comes when it is full", []string{"refill/never above capacity"}, takes(func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			if r.Limit.Algorithm == bucket.Fixed || v == (bucket.Level{}) {
				return v.Take(r.Limit, now, r.Min, r.Max)
			}
			extra := max(0, now-v.At) / int64(r.Limit.Interval())
			r.Limit.Capacity += min(extra, r.Limit.Capacity)
			return v.Take(r.Limit, now, r.Min, r.Max)
		})},
		{"begins fixed periods with the first request", []string{"refill/fixed periods lie on one grid"}, takes(
			func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
				l := r.Limit
				if l.Algorithm != bucket.Fixed {
					return v.Take(l, now, r.Min, r.Max)
				}
				if v.At <= now-int64(l.Period) {
					v = bucket.Level{At: now}
				}
				grid := now - now%int64(l.Period)
				next, d := bucket.Level{At: grid, Used: v.Used}.Take(l, grid+now-v.At, r.Min, r.Max)
				return bucket.Level{At: v.At, Used: next.Used}, d
			},
		)},
		{"knows no fixed periods", []string{"refill/a fixed bucket is filled at once", "rate/a fixed period grants its capacity"}, limits(func(l *bucket.Limit) { l.Algorithm = bucket.Continuous })},
		{"keeps what was used in the period before", []string{"refill/a fixed bucket is filled at once", "rate/a fixed period grants its capacity"}, takes(
			func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
				if r.Limit.Algorithm == bucket.Fixed && v.At > 0 && v.At < now-now%int64(r.Limit.Period) {
					v = bucket.Level{At: now - now%int64(r.Limit.Period), Used: v.Used / 2}
				}
				return v.Take(r.Limit, now, r.Min, r.Max)
			},
		)},
		{"fills again within a fixed period", []string{"rate/a fixed period grants its capacity"}, limits(func(l *bucket.Limit) {
			if l.Algorithm == bucket.Fixed {
				l.Period /= 2
			}
		})},
	}
}
