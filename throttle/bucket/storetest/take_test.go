package storetest

import (
	"maps"
	"math"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func takeFaults() []fault {
	return []fault{
		{"grants one too many", []string{"take/the whole capacity at once", "take/decides as Level.Take does", "race/concurrent first requests", "race/buckets are independent"}, tryTake(func(r *store.Request) {
			if r.Max == 1 {
				r.Limit.Capacity++
				r.Limit = r.Limit.WithDefaults()
			}
		})},
		{"charges for a denial", []string{"take/a denial takes nothing"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next, _ = v.Take(r.Limit, now, 0, r.Max)
			}
			return next, d
		})},
		{"leaves a level too far ahead", []string{"limit/a much faster rate"}, takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
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
		{"never grants more than the least", []string{"take/grants between Min and Max"}, tryTake(func(r *store.Request) { r.Max = r.Min })},
		{"grants all that is wanted, or nothing", []string{"take/grants between Min and Max", "retry/a partial grant has a RetryAfter"}, tryTake(func(r *store.Request) { r.Min = min(r.Max, r.Limit.Capacity) })},
		{"grants a part of what is the least", []string{"take/the whole capacity at once", "take/a denial takes nothing"}, tryTake(func(r *store.Request) { r.Min = min(r.Min, 1) })},
		{"counts in 32 bits", []string{"extreme/a token per nanosecond for ten years", "extreme/Fixed, maximum capacity per year", "extreme/Fixed, maximum capacity per microsecond", "extreme/as many tokens as a year has nanoseconds"}, tryTake(func(r *store.Request) { r.Max = max(r.Min, min(r.Max, math.MaxInt32)) })},
		{"overflows when very many are wanted", []string{"extreme/one token per year", "extreme/ten tokens, one per year", "extreme/one token per microsecond", "extreme/Fixed, one per year", "extreme/Fixed, one per microsecond", "extreme/a token per nanosecond, capacity 1"}, tryTake(func(r *store.Request) {
			if r.Max > math.MaxInt64/2 {
				r.Max = r.Min
			}
		})},
		{"tells what there was before", []string{"take/decides as Level.Take does"}, tells(func(d *bucket.Decision) { d.Remaining += d.Granted })},
		{"does not tell the limit", []string{"take/decides as Level.Take does"}, tells(func(d *bucket.Decision) { d.Limit = 0 })},
		{"says that a policy has decided", []string{"take/decides as Level.Take does"}, tells(func(d *bucket.Decision) { d.Source = bucket.SourcePolicy })},
		{"says that it denies what it grants in part", []string{"take/grants between Min and Max"}, tells(func(d *bucket.Decision) { d.Allowed = d.Allowed && d.RetryAfter == 0 })},
	}
}

func returnFaults() []fault {
	return []fault{
		{"ignores a Return", []string{"return/adds the returned tokens", "race/returned tokens are granted once"}, givesBack(func(v store.Level, _ bucket.Limit, _, _ int64) store.Level { return v })},
		{"gives back one at a time", []string{"return/adds the returned tokens"}, givesBack(func(v store.Level, l bucket.Limit, now, _ int64) store.Level { return v.Return(l, now, 1) })},
		{"gives back twice", []string{"return/adds the returned tokens", "race/returned tokens are granted once", "key/any bytes"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			return v.Return(l, now, n).Return(l, now, n)
		})},
		{"gives back more than there is place for", []string{"return/never exceeds the capacity", "return/to an unused bucket"}, shared(func(s *storage) {
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
		{"overflows when very many are returned", []string{"return/never exceeds the capacity"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if l.Algorithm == bucket.Fixed {
				return store.Level{At: v.At, Used: v.Used - n}
			}
			return store.Level{At: max(now, v.At-n*int64(l.Interval()))}
		})},
		{"takes when less than nothing is returned", []string{"return/zero and negative tokens"}, givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
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
		{"gives the present period what the last one had", []string{"return/tokens of an earlier period are lost"}, givesToThePresent()},
		{"resets nothing", []string{"reset/fills the bucket", "take/handles share buckets"}, shared(func(s *storage) { s.reset = func(*storage, string) {} })},
		{"empties a bucket that nobody knows when it is reset", []string{"reset/of an unused bucket"}, shared(func(s *storage) {
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
