package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func budgetCases() []testCase {
	return []testCase{
		{"is exact", budgetIsExact},
		{"is exact for calls in any order", budgetInBatches},
		{"renews every period", budgetRenews},
		{"survives requests of an older generation", budgetOfOldGeneration},
	}
}

// budgetIsExact makes concurrent requests for more probes than the budget.
func budgetIsExact(r *fixture) {
	const workers, asks, budget = 32, 8, 100
	stores := r.Handles(4)
	q := r.halfOpen(1)
	q.Budget = budget
	var granted atomic.Int64
	r.Together(workers, func(i int) error {
		for n := range asks {
			ask := q
			ask.Want = 1 + (i+n)%3
			grants, err := r.tryProbes(stores[i%len(stores)], ask)
			if err != nil {
				return fmt.Errorf("call of Probe: got error %w, want none", err)
			}
			granted.Add(int64(grants[0].Granted))
		}
		return nil
	})
	if got := granted.Load(); got != budget {
		r.Errorf("Budget %d, %d concurrent workers that request about %d: got %d granted, want exactly %d", budget, workers, workers*asks*2, got, budget)
	}
}

// budgetInBatches requests probes of the same records in many orders. That causes deadlocks in some
// databases.
func budgetInBatches(r *fixture) {
	const workers, asks, records, budget = 8, 6, 40, 10
	stores := r.Handles(4)
	base := r.halfOpen(0)
	var granted [records]atomic.Int64
	r.Together(workers, func(i int) error {
		random := rand.New(rand.NewPCG(8, uint64(i)))
		for range asks {
			order := random.Perm(records)
			requests := make([]store.ProbeRequest, records)
			for j, n := range order {
				requests[j] = base
				requests[j].ID, requests[j].Budget, requests[j].Want = idIn(n, n), budget, 1+n%2
			}
			grants, err := r.tryProbes(stores[i%len(stores)], requests...)
			if err != nil {
				return fmt.Errorf("call of Probe of %d records, in another order than concurrent calls: got error %w, want none", records, err)
			}
			for j, n := range order {
				granted[n].Add(int64(grants[j].Granted))
			}
		}
		return nil
	})
	for n := range granted {
		if got := granted[n].Load(); got != budget {
			r.Errorf("record %d: got %d granted by concurrent calls, want exactly the budget, %d", n, got, budget)
		}
	}
}

// budgetRenews makes requests until several budgets were used up. Let an answer arrive before
// the Remaining of an earlier one is over, counted from the request of the earlier one. Then both
// are in the same period, even on a slow machine.
func budgetRenews(r *fixture) {
	const every, budget, periods = 150 * time.Millisecond, 5, 4
	stores := append(r.Handles(2), r.Store)
	q := r.halfOpen(1)
	q.Every, q.Budget = every, budget
	var end time.Time // earliest end of the period
	inPeriod, total, asks := 0, 0, 0
	r.until(fmt.Sprintf("a budget of %d every %v was not granted %d times, want a new budget in each period", budget, every, periods), func() bool {
		asked := time.Now()
		g := r.probe(stores[asks%len(stores)], q)
		asks++
		r.expectBetween("Remaining of a budget every "+every.String(), g.Remaining, 0, every)
		if answered := time.Now(); !answered.Before(end.Add(-tolerance)) {
			end, inPeriod = asked.Add(g.Remaining), 0
		}
		inPeriod += g.Granted
		total += g.Granted
		if inPeriod > budget {
			r.Fatalf("Budget %d, Every %v: got %d granted in one period, want at most the budget", budget, every, inPeriod)
		}
		return total >= periods*budget
	})
}

// budgetOfOldGeneration makes requests of a manager that is behind. They must not reset the budget of
// the current generation.
func budgetOfOldGeneration(r *fixture) {
	other := r.Handle()
	behind := r.halfOpen(1)
	ahead := behind
	ahead.Generation++
	behind.Want, ahead.Want = behind.Budget, ahead.Budget
	r.expectGranted("the previous generation", other, behind, behind.Budget)
	r.expectGranted("the current generation", r.Store, ahead, ahead.Budget)
	r.expectGranted("the previous generation, whose budget is used up", other, behind, 0)
	r.expectGranted("the current generation, after a request of the previous one", r.Store, ahead, 0)
}
