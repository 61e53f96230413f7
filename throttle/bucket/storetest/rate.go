package storetest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func rateCases() []testCase {
	return []testCase{
		{"not one too many and none lost in any time", rateIsExact},
		{"a fixed period grants its capacity", rateOfPeriods},
	}
}

// rateIsExact accounts for all that is granted by a bucket that fills while many take from it, until it is empty and more. It is not full again
// for fifty seconds, so nothing is thrown away, and what is missing was lost.
func rateIsExact(r *rig) {
	const workers, each, before = 32, 8, 50_000
	stores := r.Handles(4)
	key, l := r.key("rate"), bucket.Limit{Capacity: 60_000, Refill: 1000, Period: time.Second}
	first, err := r.asks(r.Store, key, l, before, before)
	if err != nil {
		r.Fatalf("%v", err)
	}
	var granted atomic.Int64
	r.Together(workers, func(i int) error {
		for range each {
			o, err := r.asks(stores[i%len(stores)], key, l, 1, 500)
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
	last, err := r.asks(r.Store, key, l, 0, 0)
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
		r.Errorf("%s, used by %d workers for %v: got %d granted and %d left, %d in all, want %d to %d", said(l), workers,
			time.Duration(last.returned-first.called), got-last.decision.Remaining, last.decision.Remaining, got, least, most)
	}
}

// granting is an operation that was granted tokens of a period that began in a span.
type granting struct {
	begins span
	n      int64
	denied bool
}

// rateOfPeriods takes more than there is for some periods, and counts what each has granted. What took so long that it is not sure which one it
// belongs to is left out, so that no period may be found short.
func rateOfPeriods(r *rig) {
	const workers, period, periods = 16, 200 * time.Millisecond, 4
	stores := r.Handles(4)
	key, l := r.key("periods"), bucket.Limit{Capacity: 50, Period: period, Algorithm: bucket.Fixed}.WithDefaults()
	var all [workers][]granting
	var granted atomic.Int64
	begin := r.now()
	r.Together(workers, func(i int) error {
		for r.now() < begin+int64(periods*period) {
			o, err := r.asks(stores[i%len(stores)], key, l, 1, 2)
			if err != nil {
				return err
			}
			got, elapsed := granted.Add(o.decision.Granted), r.now()-begin // in this order: others may have been granted since
			// This time overlaps elapsed/period+2 periods of the store at most, and one more by its clock's resolution.
			if most := l.Capacity * (elapsed/int64(period) + 3); got > most {
				return fmt.Errorf("%s: got %d tokens granted within %v, want at most %d per period: does the store count what a Fixed bucket grants?",
					said(l), got, time.Duration(elapsed), l.Capacity)
			}
			begins := o.window(r.resolution).moved(int64(o.decision.ResetAfter) - int64(period))
			all[i] = append(all[i], granting{begins, o.decision.Granted, !o.decision.Allowed})
			if !o.decision.Allowed {
				r.Pause(time.Millisecond * time.Duration(i+1))
			}
		}
		return nil
	})
	r.judgePeriods(all[:], l)
}

func (r *rig) judgePeriods(all [][]granting, l bucket.Limit) {
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
			r.Errorf("%s: got %d granted in one period, in which some were denied: %v, want %d and no more", said(l), n, denied[k], l.Capacity)
		}
	}
}
