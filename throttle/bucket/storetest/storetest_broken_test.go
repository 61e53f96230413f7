package storetest

import (
	"maps"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func takeMutants() []mutant {
	return []mutant{
		{"grants one too many", asks(func(r *store.Request) {
			if r.Max == 1 {
				r.Limit.Capacity++
				r.Limit = r.Limit.WithDefaults()
			}
		}), []string{"take/all at once", "take/decides as a level does", "race/first requests of a bucket", "race/buckets do not share"}},
		{"charges for a denial", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next, _ = v.Take(r.Limit, now, 0, r.Max)
			}
			return next, d
		}), []string{"take/a denial charges nothing"}},
		{"leaves a level too far ahead", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			next, d := v.Take(r.Limit, now, r.Min, r.Max)
			if !d.Allowed {
				next = v
			}
			return next, d
		}), []string{"limit/much faster"}},
		{"charges for a peek", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			_, d := v.Take(r.Limit, now, r.Min, r.Max)
			next, _ := v.Take(r.Limit, now, r.Min, max(1, r.Max))
			return next, d
		}), []string{"take/a peek changes nothing"}},
		{"never grants more than the least", asks(func(r *store.Request) { r.Max = r.Min }), []string{"take/as many as there are between least and most"}},
		{"grants all that is wanted, or nothing", asks(func(r *store.Request) { r.Min = min(r.Max, r.Limit.Capacity) }), []string{
			"take/as many as there are between least and most", "retry/after a part",
		}},
		{"grants a part of what is the least", asks(func(r *store.Request) { r.Min = min(r.Min, 1) }), []string{"take/all at once", "take/a denial charges nothing"}},
		{"counts in 32 bits", asks(func(r *store.Request) { r.Max = max(r.Min, min(r.Max, math.MaxInt32)) }), []string{
			"extreme/a token per nanosecond for ten years", "extreme/fixed, very many per year", "extreme/fixed, very many per microsecond",
			"extreme/as many tokens as a year has nanoseconds",
		}},
		{"overflows when very many are wanted", asks(func(r *store.Request) {
			if r.Max > math.MaxInt64/2 {
				r.Max = r.Min
			}
		}), []string{
			"extreme/one token per year", "extreme/ten tokens, one per year", "extreme/one token per microsecond", "extreme/fixed, one per year",
			"extreme/fixed, one per microsecond", "extreme/a token per nanosecond, and one in all",
		}},
		{"tells what there was before", tells(func(d *bucket.Decision) { d.Remaining += d.Granted }), []string{"take/decides as a level does"}},
		{"does not tell the limit", tells(func(d *bucket.Decision) { d.Limit = 0 }), []string{"take/decides as a level does"}},
		{"says that a policy has decided", tells(func(d *bucket.Decision) { d.Source = bucket.SourcePolicy }), []string{"take/decides as a level does"}},
		{"says that it denies what it grants in part", tells(func(d *bucket.Decision) { d.Allowed = d.Allowed && d.RetryAfter == 0 }), []string{
			"take/as many as there are between least and most",
		}},
	}
}

func timeMutants() []mutant {
	return []mutant{
		{"does not tell when it will be full", tells(func(d *bucket.Decision) { d.ResetAfter = 0 }), []string{"take/decides as a level does"}},
		{"tells in whole seconds when it will be full", tells(func(d *bucket.Decision) { d.ResetAfter = d.ResetAfter.Truncate(time.Second) }), []string{"refill/comes back evenly"}},
		{"does not tell when to come again", tells(func(d *bucket.Decision) { d.RetryAfter = 0 }), []string{"retry/who waits for RetryAfter is granted", "retry/after a part"}},
		{"tells to come again too early", tells(func(d *bucket.Decision) { d.RetryAfter = max(0, d.RetryAfter-time.Microsecond) }), []string{
			"retry/who waits for RetryAfter is granted", "retry/after a part",
		}},
		{"tells to come again too late", tells(func(d *bucket.Decision) { d.RetryAfter *= 2 }), []string{"retry/who comes before is not", "take/all at once"}},
		{"has a clock of whole 10 milliseconds", clock(func(now, _ time.Time, _ int) time.Time { return now.Truncate(10 * time.Millisecond) }), []string{
			"refill/comes back evenly", "retry/who waits for RetryAfter is granted",
		}},
		{"has a clock that is one percent slow", clock(func(now, begun time.Time, _ int) time.Time { return begun.Add(now.Sub(begun) * 99 / 100) }), []string{"refill/comes back evenly"}},
		{"has a clock that stands", clock(func(_, begun time.Time, _ int) time.Time { return begun }), []string{
			"refill/never above capacity", "refill/a fixed bucket is filled at once",
		}},
		{"has handles with clocks of their own", clock(func(now, _ time.Time, handle int) time.Time { return now.Add(time.Duration(handle) * time.Second) }), []string{
			"rate/not one too many and none lost in any time",
		}},
		{"fills too quickly by a rounded nanosecond", asks(func(r *store.Request) {
			if l := &r.Limit; l.Algorithm == bucket.Continuous && l.Refill > 1 {
				l.Refill, l.Period = 1, max(1, l.Period/time.Duration(l.Refill))
			}
		}), []string{"extreme/a rate that is no whole number"}},
		{"fills twice as quickly", asks(func(r *store.Request) {
			if r.Limit.Algorithm == bucket.Continuous {
				r.Limit.Refill *= 2
			}
		}), []string{"rate/not one too many and none lost in any time", "refill/comes back evenly"}},
		{"saves up what comes when it is full", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
			if r.Limit.Algorithm == bucket.Continuous && v != (store.Level{}) {
				extra := max(0, now-v.At) / int64(r.Limit.Interval())
				r.Limit.Capacity += min(extra, r.Limit.Capacity)
			}
			return v.Take(r.Limit, now, r.Min, r.Max)
		}), []string{"refill/never above capacity"}},
		{"begins fixed periods with the first request", takes(func(v store.Level, r store.Request, now int64) (store.Level, bucket.Decision) {
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
		}), []string{"refill/fixed periods lie on one grid"}},
		{"knows no fixed periods", asks(func(r *store.Request) { r.Limit.Algorithm = bucket.Continuous }), []string{
			"refill/a fixed bucket is filled at once", "rate/a fixed period grants its capacity",
		}},
		{"fills again within a fixed period", asks(func(r *store.Request) {
			if r.Limit.Algorithm == bucket.Fixed {
				r.Limit.Period /= 2
			}
		}), []string{"rate/a fixed period grants its capacity"}},
	}
}

func returnMutants() []mutant {
	return []mutant{
		{"ignores a Return", givesBack(func(v store.Level, _ bucket.Limit, _, _ int64) store.Level { return v }), []string{
			"return/gives back as many", "race/what is returned is granted again, once",
		}},
		{"gives back one at a time", givesBack(func(v store.Level, l bucket.Limit, now, _ int64) store.Level { return v.Return(l, now, 1) }), []string{"return/gives back as many"}},
		{"gives back twice", givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			return v.Return(l, now, n).Return(l, now, n)
		}), []string{
			"return/gives back as many", "race/what is returned is granted again, once", "key/of any bytes are apart",
		}},
		{"gives back more than there is place for", shared(func(s *storage) {
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
		}), []string{"return/never above capacity", "return/to a bucket that nobody knows"}},
		{"overflows when very many are returned", givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if l.Algorithm == bucket.Fixed {
				return store.Level{At: v.At, Used: v.Used - n}
			}
			return store.Level{At: max(now, v.At-n*int64(l.Interval()))}
		}), []string{"return/never above capacity"}},
		{"takes when less than nothing is returned", givesBack(func(v store.Level, l bucket.Limit, now, n int64) store.Level {
			if n < 0 {
				v, _ = v.Take(l, now, 0, 1)
			}
			return v.Return(l, now, n)
		}), []string{"return/nothing, and less than that"}},
		{"returns to all buckets", shared(func(s *storage) {
			s.giveBack = func(v store.Level, l bucket.Limit, now, n int64) store.Level {
				for key, other := range s.levels {
					s.levels[key] = other.Return(l, now, n)
				}
				return v.Return(l, now, n)
			}
		}), []string{"return/to one bucket only"}},
		{"gives the present period what the last one had", givesToThePresent(), []string{"return/what was taken in another period is lost"}},
		{"resets nothing", shared(func(s *storage) { s.reset = func(*storage, string) {} }), []string{"reset/fills", "take/another handle sees it"}},
		{"empties a bucket that nobody knows when it is reset", shared(func(s *storage) {
			s.reset = func(s *storage, key string) {
				if _, known := s.levels[key]; known {
					s.levels[key] = store.Level{}
					return
				}
				s.levels[key], _ = store.Level{}.Take(lasting(3, bucket.Continuous), 1<<62, 0, 3)
			}
		}), []string{"reset/of a bucket that nobody knows"}},
		{"resets all buckets", shared(func(s *storage) {
			s.reset = func(s *storage, _ string) { maps.DeleteFunc(s.levels, func(string, store.Level) bool { return true }) }
		}), []string{"reset/fills one bucket only"}},
	}
}

// givesToThePresent keeps what is given back of another period as a negative use, and grants it.
func givesToThePresent() opening {
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
