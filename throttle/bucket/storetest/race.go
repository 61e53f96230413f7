package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// tryTake calls Take. It is safe for concurrent use.
func (r *fixture) tryTake(s store.Store, key string, l bucket.Limit, atLeast, atMost int64) (operation, error) {
	o := r.do(r.Context(), s, operation{request: store.Request{Key: key, Limit: l, Min: atLeast, Max: atMost}})
	if o.err != nil {
		return o, fmt.Errorf("%v, key %.40q: got error %w, want none", o, key, o.err)
	}
	if d := o.decision; d.Granted > atMost || d.Granted < 0 || d.Allowed && d.Granted < atLeast || !d.Allowed && d.Granted != 0 {
		return o, fmt.Errorf("key %.40q: got %v, want nothing granted, or between Min and Max", key, o)
	}
	return o, nil
}

// raceToTheLast empties a bucket by concurrent requests, until each worker is denied.
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
					return fmt.Errorf("more than twice the capacity was granted, want exactly %d", l.Capacity)
				}
			}
		})
		if got := granted.Load(); got != l.Capacity {
			r.Errorf("%s, emptied by %d concurrent workers, up to %d tokens per request: got %d granted, want the capacity, %d",
				describe(l), workers, atMost, got, l.Capacity)
		}
	}
}

// raceFor lets workers take single tokens of buckets, each in an order of its own. Each bucket must grant its capacity.
func (r *fixture) raceFor(name string, limits []bucket.Limit, order func(worker int) []int) {
	r.Helper()
	const workers = 8
	stores, granted := r.Handles(4), make([]atomic.Int64, len(limits))
	r.Together(workers, func(i int) error {
		for _, n := range order(i) {
			o, err := r.tryTake(stores[i%len(stores)], r.key(fmt.Sprint(name, n)), limits[n], 0, 1)
			if err != nil {
				return err
			}
			granted[n].Add(o.decision.Granted)
		}
		return nil
	})
	for n, l := range limits {
		if got := granted[n].Load(); got != l.Capacity {
			r.Errorf("%s, one of %d buckets, asked for single tokens by %d concurrent workers: got %d granted, want the capacity, %d",
				describe(l), len(limits), workers, got, l.Capacity)
		}
	}
}

// raceToTheFirst uses new buckets. For some databases the first request is an insert, not an
// update.
func raceToTheFirst(r *fixture, a bucket.Algorithm) {
	limits, order := slices.Repeat([]bucket.Limit{slowLimit(5, a)}, 15), make([]int, 15)
	for n := range order {
		order[n] = n
	}
	r.raceFor(fmt.Sprint("first ", a), limits, func(int) []int { return order })
}

// raceWithReturns returns some of the granted tokens. In the end the workers keep as many tokens as
// the capacity.
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
		r.Errorf("%s, taken and returned by %d concurrent workers: got %d kept and %d left, want %d in total",
			describe(l), workers, kept.Load(), o.decision.Granted, capacity)
	}
}

// raceOfKeys uses many buckets concurrently, in different orders.
func raceOfKeys(r *fixture, a bucket.Algorithm) {
	limits := make([]bucket.Limit, 12)
	for n := range limits {
		limits[n] = slowLimit(5+int64(n)%3, a)
	}
	r.raceFor(fmt.Sprint("keys ", a), limits, func(worker int) []int {
		random := rand.New(rand.NewPCG(9, uint64(worker)))
		return append(random.Perm(len(limits)), random.Perm(len(limits))...)
	})
}

func rateCases() []testCase {
	return []testCase{
		{"grants exactly the added tokens", rateIsExact},
		{"a Fixed period grants its capacity", rateOfPeriods},
	}
}

// rateIsExact counts the tokens that a bucket grants while it fills. The bucket is not full for the
// next 50 seconds, so every token that is added must be granted or left.
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
		return // the bucket may have been full, so the number of added tokens is unknown
	}
	got := first.decision.Granted + granted.Load() + last.decision.Remaining
	least := l.Capacity + (last.called-first.returned-2*r.resolution)/int64(time.Millisecond) - 1
	most := l.Capacity + (last.returned-first.called+2*r.resolution)/int64(time.Millisecond)
	if got < least || got > most {
		r.Errorf("%s, used by %d concurrent workers for %v: got %d granted and %d left, %d in total, want %d to %d", describe(l), workers,
			time.Duration(last.returned-first.called), got-last.decision.Remaining, last.decision.Remaining, got, least, most)
	}
}

// grant is the answer to a request, and the span in which its period began.
type grant struct {
	begins span
	n      int64
	denied bool
}

// rateOfPeriods takes tokens for some periods and counts what each period grants. Answers whose
// period is not certain are left out; then a period may be short.
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
			got, elapsed := granted.Add(o.decision.Granted), r.now()-begin // the time after the count
			// Elapsed time overlaps at most elapsed/period+2 periods. One more is for the
			// resolution of the clock.
			if most := l.Capacity * (elapsed/int64(period) + 3); got > most {
				return fmt.Errorf("%s: got %d tokens granted within %v, want at most %d per period: a Fixed bucket must count what it grants",
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
			r.Errorf("%s: got %d granted in one period (requests denied: %v), want exactly the capacity, %d", describe(l), n, denied[k], l.Capacity)
		}
	}
}
