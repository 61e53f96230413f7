package storetest

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// takes breaks how a level is taken from.
func takes(take func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision)) func(*recorder) func() bucket.Store {
	return shared(func(s *storage) { s.take = take })
}

// asks breaks what is asked for.
func asks(change func(r *bucket.Request)) func(*recorder) func() bucket.Store {
	return takes(func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
		change(&r)
		return v.Take(r.Limit, now, r.Min, r.Max)
	})
}

// tells breaks what is told.
func tells(change func(d *bucket.Decision, r bucket.Request)) func(*recorder) func() bucket.Store {
	return shared(func(s *storage) {
		s.decision = func(d bucket.Decision, r bucket.Request) bucket.Decision {
			change(&d, r)
			return d
		}
	})
}

func takeMutants() []mutant {
	return []mutant{
		{"grants one too many", []string{"take/all at once", "take/decides as a level does", "race/first requests of a bucket", "race/buckets do not share"}, asks(func(r *bucket.Request) {
			if r.Max == 1 {
				r.Limit.Capacity++
				r.Limit = r.Limit.WithDefaults()
			}
		})},
		{"charges for a denial", []string{"take/a denial charges nothing"}, takes(func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next, _ = v.Take(r.Limit, now, 0, r.Max)
			}
			return next, d
		})},
		{"leaves a level too far ahead", []string{"limit/much faster"}, takes(func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next = v
			}
			return next, d
		})},
		{"charges for a peek", []string{"take/a peek changes nothing"}, takes(func(v bucket.Level, r bucket.Request, now int64) (bucket.Level, bucket.Decision) {
			_, d := v.Take(r.Limit, now, r.Min, r.Max)
			next, _ := v.Take(r.Limit, now, r.Min, max(1, r.Max))
			return next, d
		})},
		{"never grants more than the least", []string{"take/as many as there are between least and most"}, asks(func(r *bucket.Request) { r.Max = r.Min })},
		{"grants all that is wanted, or nothing", []string{"take/as many as there are between least and most", "retry/after a part"}, asks(func(r *bucket.Request) {
			r.Min = min(r.Max, r.Limit.Capacity)
		})},
		{"grants a part of what is the least", []string{"take/all at once", "take/a denial charges nothing"}, asks(func(r *bucket.Request) { r.Min = min(r.Min, 1) })},
		{"counts in 32 bits", []string{"extreme/a token per nanosecond for ten years", "extreme/fixed, very many per year", "extreme/fixed, very many per microsecond", "extreme/as many tokens as a year has nanoseconds"}, asks(func(r *bucket.Request) {
			r.Max = max(r.Min, min(r.Max, math.MaxInt32))
		})},
		{"overflows when very many are wanted", []string{"extreme/one token per year", "extreme/ten tokens, one per year", "extreme/one token per microsecond", "extreme/fixed, one per year", "extreme/fixed, one per microsecond", "extreme/a token per nanosecond, and one in all", "extreme/a rate that is no whole number", "take/as many as there are between least and most"}, asks(func(r *bucket.Request) {
			if r.Max > math.MaxInt64/2 {
				r.Max = r.Min
			}
		})},
	}
}

func answerMutants() []mutant {
	return []mutant{
		{"tells what there was before", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision, _ bucket.Request) { d.Remaining += d.Granted })},
		{"does not tell the limit", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision, _ bucket.Request) { d.Limit = 0 })},
		{"says that a policy has decided", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision, _ bucket.Request) { d.Source = bucket.FromPolicy })},
		{"does not tell when it will be full", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision, _ bucket.Request) { d.ResetAfter = 0 })},
		{"tells in whole seconds when it will be full", []string{"refill/comes back evenly"}, tells(func(d *bucket.Decision, _ bucket.Request) {
			d.ResetAfter = d.ResetAfter.Truncate(time.Second)
		})},
		{"does not tell when to come again", []string{"retry/who waits for RetryAfter is granted", "retry/after a part"}, tells(func(d *bucket.Decision, _ bucket.Request) { d.RetryAfter = 0 })},
		{"tells to come again too early", []string{"retry/who waits for RetryAfter is granted", "retry/after a part"}, tells(func(d *bucket.Decision, _ bucket.Request) {
			d.RetryAfter = max(0, d.RetryAfter-time.Microsecond)
		})},
		{"tells to come again too late", []string{"retry/who comes before is not", "take/all at once"}, tells(func(d *bucket.Decision, _ bucket.Request) { d.RetryAfter *= 2 })},
		{"tells to come again when it is full", []string{"retry/who comes before is not"}, tells(func(d *bucket.Decision, _ bucket.Request) {
			if d.RetryAfter > 0 {
				d.RetryAfter = d.ResetAfter
			}
		})},
		{"says that it denies what it grants in part", []string{"take/as many as there are between least and most"}, tells(func(d *bucket.Decision, r bucket.Request) {
			d.Allowed = d.Granted == r.Max
		})},
	}
}

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
