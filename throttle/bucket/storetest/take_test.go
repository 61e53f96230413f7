package storetest

import (
	"maps"
	"math"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func takeFaults() []fault {
	return []fault{
		{"grants one too many", []string{"take/the whole capacity at once"}, tryTake(func(r *store.Request) {
			if r.Max == 1 {
				r.Limit.Capacity++
				r.Limit = r.Limit.WithDefaults()
			}
		})},
		{"charges for a denial", []string{"take/a denial takes nothing"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next, _ = v.Take(r.Limit, now, 0, r.Max)
			}
			return next, d
		})},
		{"charges for a peek", []string{"take/a peek changes nothing"}, replacesTake(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			_, d := v.Take(r.Limit, now, r.Min, r.Max)
			next, _ := v.Take(r.Limit, now, r.Min, max(1, r.Max))
			return next, d
		})},
		{"never grants more than Min", []string{"take/grants between Min and Max"}, tryTake(func(r *store.Request) { r.Max = r.Min })},
		{"grants Max or nothing", []string{"take/grants between Min and Max"}, tryTake(func(r *store.Request) { r.Min = min(r.Max, r.Limit.Capacity) })},
		{"grants less than Min", []string{"take/the whole capacity at once"}, tryTake(func(r *store.Request) { r.Min = min(r.Min, 1) })},
		{"counts in 32 bits", []string{"extreme/a token per nanosecond for ten years", "extreme/Fixed, maximum capacity per year", "extreme/Fixed, maximum capacity per microsecond", "extreme/as many tokens as a year has nanoseconds"}, tryTake(func(r *store.Request) { r.Max = max(r.Min, min(r.Max, math.MaxInt32)) })},
		{"overflows for a large Max", []string{"extreme/one token per year", "extreme/ten tokens, one per year", "extreme/one token per microsecond", "extreme/Fixed, one per year", "extreme/Fixed, one per microsecond", "extreme/a token per nanosecond, capacity 1"}, tryTake(func(r *store.Request) {
			if r.Max > math.MaxInt64/2 {
				r.Max = r.Min
			}
		})},
		{"returns the tokens before the request as Remaining", []string{"take/decides as Level.Take does"}, changesDecision(func(d *bucket.Decision) { d.Remaining += d.Granted })},
	}
}

func returnFaults() []fault {
	return []fault{
		{"ignores a Return", []string{"return/adds the returned tokens"}, givesBack(func(v store.Level, _ bucket.Limit, _, _ int64) store.Level { return v })},
		{"gives back one at a time", []string{"return/adds the returned tokens"}, givesBack(func(v store.Level, l bucket.Limit, now, _ int64) store.Level { return v.Return(l, now, 1) })},
		{"adds tokens above the capacity", []string{"return/never exceeds the capacity", "return/to an unused bucket"}, shared(func(s *storage) {
			surplus := map[string]int64{}
			s.giveBack = func(v store.Level, l bucket.Limit, now, n int64) store.Level {
				next := v.Return(l, now, n)
				if next.Full(l, now) {
					surplus[describe(l)] += min(n, 1)
				}
				return next
			}
			s.take = func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
				r.Limit.Capacity += surplus[describe(r.Limit)]
				return v.Take(r.Limit, now, r.Min, r.Max)
			}
		})},
		{"takes tokens for a negative Return", []string{"return/zero and negative tokens"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if n < 0 {
				v, _ = v.Take(l, now, 0, 1)
			}
			return v.Return(l, now, n)
		})},
		{"returns to all buckets", []string{"return/changes one bucket only"}, shared(func(s *storage) {
			s.giveBack = func(v store.Level, l bucket.Limit, now, n int64) store.Level {
				for key, other := range s.levels {
					s.levels[key] = other.Return(l, now, n)
				}
				return v.Return(l, now, n)
			}
		})},
		{"adds tokens of the last period to the current one", []string{"return/tokens of an earlier period are lost"}, addsToCurrentPeriod()},
		{"resets nothing", []string{"reset/fills the bucket"}, shared(func(s *storage) { s.reset = func(*storage, string) {} })},
		{"empties an unused bucket on Reset", []string{"reset/of an unused bucket"}, shared(func(s *storage) {
			s.reset = func(s *storage, key string) {
				if _, known := s.levels[key]; known {
					s.levels[key] = store.Level{}
					return
				}
				s.levels[key], _ = store.Level{}.Take(slowLimit(3, bucket.Continuous), 1<<62, 0, 3)
			}
		})},
		{"resets all buckets", []string{"reset/changes one bucket only"}, shared(func(s *storage) {
			s.reset = func(s *storage, _ string) { maps.DeleteFunc(s.levels, func(string, store.Level) bool { return true }) }
		})},
	}
}

// addsToCurrentPeriod stores a Return to an earlier period as negative use, and grants it.
func addsToCurrentPeriod() opener {
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
