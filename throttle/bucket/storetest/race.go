package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func raceCases() []testCase {
	return []testCase{
		{"grants exactly the capacity", eachAlgorithm(raceToTheLast)},
		{"concurrent first requests", eachAlgorithm(raceToTheFirst)},
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
