package storetest

import (
	"maps"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func takeFaults() []fault {
	return []fault{
		{"grants one too many", []string{"take/all at once", "take/decides as a level does", "race/first requests of a bucket", "race/buckets do not share"}, asks(func(r *store.Request) {
			if r.Max == 1 {
				r.Limit.Capacity++
				r.Limit = r.Limit.WithDefaults()
			}
		})},
		{"charges for a denial", []string{"take/a denial charges nothing"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next, _ = v.Take(r.Limit, now, 0, r.Max)
			}
			return next, d
		})},
		{"leaves a level too far ahead", []string{"limit/much faster"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next = v
			}
			return next, d
		})},
		{"charges for a peek", []string{"take/a peek changes nothing"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			_, d := v.Take(r.Limit, now, r.Min, r.Max)
			next, _ := v.Take(r.Limit, now, r.Min, max(1, r.Max))
			return next, d
		})},
		{"never grants more than the least", []string{"take/as many as there are between least and most"}, asks(func(r *store.Request) { r.Max = r.Min })},
		{"grants all that is wanted, or nothing", []string{"take/as many as there are between least and most", "retry/after a part"}, asks(func(r *store.Request) { r.Min = min(r.Max, r.Limit.Capacity) })},
		{"grants a part of what is the least", []string{"take/all at once", "take/a denial charges nothing"}, asks(func(r *store.Request) { r.Min = min(r.Min, 1) })},
		{"counts in 32 bits", []string{"extreme/a token per nanosecond for ten years", "extreme/fixed, very many per year", "extreme/fixed, very many per microsecond", "extreme/as many tokens as a year has nanoseconds"}, asks(func(r *store.Request) { r.Max = max(r.Min, min(r.Max, math.MaxInt32)) })},
		{"overflows when very many are wanted", []string{"extreme/one token per year", "extreme/ten tokens, one per year", "extreme/one token per microsecond", "extreme/fixed, one per year", "extreme/fixed, one per microsecond", "extreme/a token per nanosecond, and one in all"}, asks(func(r *store.Request) {
			if r.Max > math.MaxInt64/2 {
				r.Max = r.Min
			}
		})},
		{"tells what there was before", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision) { d.Remaining += d.Granted })},
		{"does not tell the limit", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision) { d.Limit = 0 })},
		{"says that a policy has decided", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision) { d.Source = bucket.SourcePolicy })},
		{"says that it denies what it grants in part", []string{"take/as many as there are between least and most"}, tells(func(d *bucket.Decision) { d.Allowed = d.Allowed && d.RetryAfter == 0 })},
	}
}

func timeFaults() []fault {
	return []fault{
		{"does not tell when it will be full", []string{"take/decides as a level does"}, tells(func(d *bucket.Decision) { d.ResetAfter = 0 })},
		{"tells in whole seconds when it will be full", []string{"refill/comes back evenly"}, tells(func(d *bucket.Decision) { d.ResetAfter = d.ResetAfter.Truncate(time.Second) })},
		{"does not tell when to come again", []string{"retry/who waits for RetryAfter is granted", "retry/after a part"}, tells(func(d *bucket.Decision) { d.RetryAfter = 0 })},
		{"tells to come again too early", []string{"retry/who waits for RetryAfter is granted", "retry/after a part"}, tells(func(d *bucket.Decision) { d.RetryAfter = max(0, d.RetryAfter-time.Microsecond) })},
		{"tells to come again too late", []string{"retry/who comes before is not", "take/all at once"}, tells(func(d *bucket.Decision) { d.RetryAfter *= 2 })},
		{"has a clock of whole 10 milliseconds", []string{"refill/comes back evenly", "retry/who waits for RetryAfter is granted"}, clock(func(now, _ time.Time, _ int) time.Time { return now.Truncate(10 * time.Millisecond) })},
		{"has a clock that is one percent slow", []string{"refill/comes back evenly"}, clock(func(now, begun time.Time, _ int) time.Time { return begun.Add(now.Sub(begun) * 99 / 100) })},
		{"has a clock that stands", []string{"refill/never above capacity", "refill/a fixed bucket is filled at once"}, clock(func(_, begun time.Time, _ int) time.Time { return begun })},
		{"has handles with clocks of their own", []string{"rate/not one too many and none lost in any time"}, clock(func(now, _ time.Time, handle int) time.Time { return now.Add(time.Duration(handle) * time.Second) })},
		{"fills too quickly by a rounded nanosecond", []string{"extreme/a rate that is no whole number"}, asks(func(r *store.Request) {
			if l := &r.Limit; l.Algorithm == bucket.Continuous && l.Refill > 1 {
				l.Refill, l.Period = 1, max(1, l.Period/time.Duration(l.Refill))
			}
		})},
		{"fills twice as quickly", []string{"rate/not one too many and none lost in any time", "refill/comes back evenly"}, asks(func(r *store.Request) {
			if r.Limit.Algorithm == bucket.Continuous {
				r.Limit.Refill *= 2
			}
		})},
		{"saves up what comes when it is full", []string{"refill/never above capacity"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			if r.Limit.Algorithm == bucket.Continuous && v != (store.Level{}) {
				extra := max(0, now-v.At) / int64(r.Limit.Interval())
				r.Limit.Capacity += min(extra, r.Limit.Capacity)
			}
			return v.Take(r.Limit, now, r.Min, r.Max)
		})},
		{"begins fixed periods with the first request", []string{"refill/fixed periods lie on one grid"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
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
		{"knows no fixed periods", []string{"refill/a fixed bucket is filled at once", "rate/a fixed period grants its capacity"}, asks(func(r *store.Request) { r.Limit.Algorithm = bucket.Continuous })},
		{"never counts what a fixed bucket grants", []string{"rate/a fixed period grants its capacity"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if r.Limit.Algorithm == bucket.Fixed {
				next = v
			}
			return next, d
		})},
		{"fills again within a fixed period", []string{"rate/a fixed period grants its capacity"}, asks(func(r *store.Request) {
			if r.Limit.Algorithm == bucket.Fixed {
				r.Limit.Period /= 2
			}
		})},
	}
}

func returnFaults() []fault {
	return []fault{
		{"ignores a Return", []string{"return/gives back as many", "race/what is returned is granted again, once"}, givesBack(func(v store.Level, _ bucket.Limit, _, _ int64) store.Level { return v })},
		{"gives back one at a time", []string{"return/gives back as many"}, givesBack(func(v store.Level, l bucket.Limit, now, _ int64) store.Level { return v.Return(l, now, 1) })},
		{"gives back twice", []string{"return/gives back as many", "race/what is returned is granted again, once", "key/of any bytes are apart"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			return v.Return(l, now, n).Return(l, now, n)
		})},
		{"gives back more than there is place for", []string{"return/never above capacity", "return/to a bucket that nobody knows"}, shared(func(s *storage) {
			surplus := map[string]int64{}
			s.giveBack = func(v store.Level, l bucket.Limit, now, n int64) store.Level {
				next := v.Return(l, now, n)
				if next.Full(l, now) {
					surplus[said(l)] += min(n, 1)
				}
				return next
			}
			s.take = func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
				r.Limit.Capacity += surplus[said(r.Limit)]
				return v.Take(r.Limit, now, r.Min, r.Max)
			}
		})},
		{"overflows when very many are returned", []string{"return/never above capacity"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if l.Algorithm == bucket.Fixed {
				return store.Level{At: v.At, Used: v.Used - n}
			}
			return store.Level{At: max(now, v.At-n*int64(l.Interval()))}
		})},
		{"takes when less than nothing is returned", []string{"return/nothing, and less than that"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if n < 0 {
				v, _ = v.Take(l, now, 0, 1)
			}
			return v.Return(l, now, n)
		})},
		{"returns to all buckets", []string{"return/to one bucket only"}, shared(func(s *storage) {
			s.giveBack = func(v store.Level, l bucket.Limit, now, n int64) store.Level {
				for key, other := range s.levels {
					s.levels[key] = other.Return(l, now, n)
				}
				return v.Return(l, now, n)
			}
		})},
		{"gives the present period what the last one had", []string{"return/what was taken in another period is lost"}, givesToThePresent()},
		{"resets nothing", []string{"reset/fills", "take/another handle sees it"}, shared(func(s *storage) { s.reset = func(*storage, string) {} })},
		{"empties a bucket that nobody knows when it is reset", []string{"reset/of a bucket that nobody knows"}, shared(func(s *storage) {
			s.reset = func(s *storage, key string) {
				if _, known := s.levels[key]; known {
					s.levels[key] = store.Level{}
					return
				}
				s.levels[key], _ = store.Level{}.Take(lasting(3, bucket.Continuous), 1<<62, 0, 3)
			}
		})},
		{"resets all buckets", []string{"reset/fills one bucket only"}, shared(func(s *storage) {
			s.reset = func(s *storage, _ string) { maps.DeleteFunc(s.levels, func(string, store.Level) bool { return true }) }
		})},
	}
}

// givesToThePresent keeps what is given back of another period as a negative use, and grants it.
func givesToThePresent() opener {
	return shared(func(s *storage) {
		s.giveBack = func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if begins := now - now%int64(l.Period); l.Algorithm == bucket.Fixed && v.At < begins {
				return store.Level{At: begins, Used: -n}
			}
			return v.Return(l, now, n)
		}
		s.take = func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			l := r.Limit
			if v.Used < 0 {
				l.Capacity, v.Used = l.Capacity-v.Used, 0
			}
			next, d := v.Take(l, now, r.Min, r.Max)
			d.Limit = r.Limit.Capacity
			return next, d
		}
	})
}
