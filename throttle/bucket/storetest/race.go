package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func raceCases() []testCase {
	return []testCase{
		{"grants exactly the capacity", eachAlgorithm(raceToTheLast)},
		{"concurrent first requests", eachAlgorithm(raceToTheFirst)},
		{"returned tokens are granted once", eachAlgorithm(raceWithReturns)},
		{"buckets are independent", eachAlgorithm(raceOfKeys)},
	}
}

// asks is a Take that may be one of many at once.
func (r *fixture) tryTake(s store.Store, key string, l bucket.Limit, atLeast, atMost int64) (operation, error) {
	o := r.do(r.Context(), s, operation{request: store.Request{Key: key, Limit: l, Min: atLeast, Max: atMost}})
	if o.err != nil {
		return o, fmt.Errorf("%v of key %.40q: got error %w, want none", o, key, o.err)
	}
	if d := o.decision; d.Granted > atMost || d.Granted < 0 || d.Allowed && d.Granted < atLeast || !d.Allowed && d.Granted != 0 {
		return o, fmt.Errorf("key %.40q: got %v, want none granted, or as many as were asked for", key, o)
	}
	return o, nil
}

// raceToTheLast empties a bucket by many at once, each until it is denied.
func raceToTheLast(r *fixture, a bucket.Algorithm) {
	const workers = 32
	stores := r.Handles(4)
	for _, atMost := range []int64{1, 3} {
		key, l := r.key(fmt.Sprint("last ", a, atMost)), slowLimit(200*atMost, a)
		var granted, denied atomic.Int64
		r.Together(workers, func(i int) error {
			for {
				o, err := r.tryTake(stores[i%len(stores)], key, l, 1, atMost)
				if err != nil {
					return err
				}
				if !o.decision.Allowed {
					denied.Add(1)
					return nil
				}
				if granted.Add(o.decision.Granted) > 2*l.Capacity {
					return fmt.Errorf("more than twice the capacity of %d was granted", l.Capacity)
				}
			}
		})
		if got := granted.Load(); got != l.Capacity {
			r.Errorf("%s, up to %d taken by %d workers at once until each was denied: got %d granted, want %d", describe(l), atMost, workers, got, l.Capacity)
		}
	}
}

// raceToTheFirst has buckets that are not there yet, which is an insert and not an update to some databases.
func raceToTheFirst(r *fixture, a bucket.Algorithm) {
	const workers, rounds, capacity = 8, 15, 5
	stores := r.Handles(4)
	var granted [rounds]atomic.Int64
	r.Together(workers, func(i int) error {
		for round := range rounds {
			o, err := r.tryTake(stores[i%len(stores)], r.key(fmt.Sprint("first ", a, round)), slowLimit(capacity, a), 1, 1)
			if err != nil {
				return err
			}
			granted[round].Add(o.decision.Granted)
		}
		return nil
	})
	for round := range rounds {
		if got := granted[round].Load(); got != capacity {
			r.Errorf("%s, one asked for by each of %d workers at once, of whom none is the first: got %d granted, want %d",
				describe(slowLimit(capacity, a)), workers, got, capacity)
		}
	}
}

// raceWithReturns gives back a part of what was granted. In the end as much is kept as there was.
func raceWithReturns(r *fixture, a bucket.Algorithm) {
	const workers, rounds, capacity = 16, 12, 60
	stores := r.Handles(4)
	key, l := r.key("returns "+a.String()), slowLimit(capacity, a)
	var kept atomic.Int64
	r.Together(workers, func(i int) error {
		random := rand.New(rand.NewPCG(9, uint64(i)))
		for range rounds {
			s := stores[random.IntN(len(stores))]
			o, err := r.tryTake(s, key, l, 1, 3)
			if err != nil {
				return err
			}
			back := o.decision.Granted * random.Int64N(2)
			if back > 0 {
				if o := r.do(r.Context(), s, operation{kind: giveBack, request: store.Request{Key: key, Limit: l, Max: back}}); o.err != nil {
					return fmt.Errorf("%v: got error %w, want none", o, o.err)
				}
			}
			kept.Add(o.decision.Granted - back)
		}
		return nil
	})
	o, err := r.tryTake(r.Store, key, l, 0, capacity+1)
	if err != nil {
		r.Fatalf("%v", err)
	}
	if got := kept.Load() + o.decision.Granted; got != capacity {
		r.Errorf("%s, taken and returned by %d workers at once: got %d kept, and %d left, want %d in all",
			describe(l), workers, kept.Load(), o.decision.Granted, capacity)
	}
}

// raceOfKeys asks for many buckets at once, in different orders.
func raceOfKeys(r *fixture, a bucket.Algorithm) {
	const workers, keys, capacity = 8, 12, 5
	stores := r.Handles(4)
	var granted [keys]atomic.Int64
	r.Together(workers, func(i int) error {
		random := rand.New(rand.NewPCG(9, uint64(i)))
		for range 2 {
			for _, n := range random.Perm(keys) {
				o, err := r.tryTake(stores[i%len(stores)], r.key(fmt.Sprint("keys ", a, n)), slowLimit(capacity+int64(n)%3, a), 0, 1)
				if err != nil {
					return err
				}
				granted[n].Add(o.decision.Granted)
			}
		}
		return nil
	})
	for n := range granted {
		if got, want := granted[n].Load(), int64(capacity+n%3); got != want {
			r.Errorf("%d buckets, each asked for %d tokens: got %d of number %d granted, want %d", keys, 2*workers, got, n, want)
		}
	}
}

func rateCases() []testCase {
	return []testCase{
		{"grants exactly the added tokens", rateIsExact},
		{"a Fixed period grants its capacity", rateOfPeriods},
	}
}

// rateIsExact accounts for all that is granted by a bucket that fills while many take from it, until it is empty and more. It is not full again
// for fifty seconds, so nothing is thrown away, and what is missing was lost.
func rateIsExact(r *fixture) {
	const workers, each, before = 32, 8, 50_000
	stores := r.Handles(4)
	key, l := r.key("rate"), bucket.Limit{Capacity: 60_000, Refill: 1000, Period: time.Second}
	first, err := r.tryTake(r.Store, key, l, before, before)
	if err != nil {
		r.Fatalf("%v", err)
	}
	var granted atomic.Int64
	r.Together(workers, func(i int) error {
		for range each {
			o, err := r.tryTake(stores[i%len(stores)], key, l, 1, 500)
			if err != nil {
				return err
			}
			granted.Add(o.decision.Granted)
			if !o.decision.Allowed {
				r.Pause(o.decision.RetryAfter)
			}
		}
		return nil
	})
	last, err := r.tryTake(r.Store, key, l, 0, 0)
	if err != nil {
		r.Fatalf("%v", err)
	}
	if last.returned-first.called > before*int64(time.Millisecond) {
		return // it may have been full meanwhile, so that it cannot be told what should be there
	}
	got := first.decision.Granted + granted.Load() + last.decision.Remaining
	least := l.Capacity + (last.called-first.returned-2*r.resolution)/int64(time.Millisecond) - 1
	most := l.Capacity + (last.returned-first.called+2*r.resolution)/int64(time.Millisecond)
	if got < least || got > most {
		r.Errorf("%s, used by %d workers for %v: got %d granted and %d left, %d in all, want %d to %d", describe(l), workers,
			time.Duration(last.returned-first.called), got-last.decision.Remaining, last.decision.Remaining, got, least, most)
	}
}

// granting is an operation that was granted tokens of a period that began in a span.
type grant struct {
	begins span
	n      int64
	denied bool
}

// rateOfPeriods takes more than there is for some periods, and counts what each has granted. What took so long that it is not sure which one it
// belongs to is left out, so that no period may be found short.
func rateOfPeriods(r *fixture) {
	const workers, period, periods = 16, 200 * time.Millisecond, 4
	stores := r.Handles(4)
	key, l := r.key("periods"), bucket.Limit{Capacity: 50, Period: period, Algorithm: bucket.Fixed}.WithDefaults()
	var all [workers][]grant
	var granted atomic.Int64
	begin := r.now()
	r.Together(workers, func(i int) error {
		for r.now() < begin+int64(periods*period) {
			o, err := r.tryTake(stores[i%len(stores)], key, l, 1, 2)
			if err != nil {
				return err
			}
			got, elapsed := granted.Add(o.decision.Granted), r.now()-begin // in this order: others may have been granted since
			// This time overlaps elapsed/period+2 periods of the store at most, and one more by its clock's resolution.
			if most := l.Capacity * (elapsed/int64(period) + 3); got > most {
				return fmt.Errorf("%s: got %d tokens granted within %v, want at most %d per period: does the store count what a Fixed bucket grants?",
					describe(l), got, time.Duration(elapsed), l.Capacity)
			}
			begins := o.window(r.resolution).moved(int64(o.decision.ResetAfter) - int64(period))
			all[i] = append(all[i], grant{begins, o.decision.Granted, !o.decision.Allowed})
			if !o.decision.Allowed {
				r.Pause(time.Millisecond * time.Duration(i+1))
			}
		}
		return nil
	})
	r.checkPeriods(all[:], l)
}

func (r *fixture) checkPeriods(all [][]grant, l bucket.Limit) {
	r.Helper()
	period := int64(l.Period)
	sum, denied, unsure := map[int64]int64{}, map[int64]bool{}, false
	var origin *span
	for _, some := range all {
		for _, g := range some {
			if origin == nil {
				origin = &g.begins
			}
			k := (g.begins.from - origin.from + period/2 + 1000*period) / period
			if g.begins.to-g.begins.from > period/4 || origin.to-origin.from > period/4 {
				unsure = true
				continue
			}
			sum[k] += g.n
			denied[k] = denied[k] || g.denied
		}
	}
	for k, n := range sum {
		if n > l.Capacity || n < l.Capacity && denied[k] && !unsure {
			r.Errorf("%s: got %d granted in one period, in which some were denied: %v, want %d and no more", describe(l), n, denied[k], l.Capacity)
		}
	}
}
