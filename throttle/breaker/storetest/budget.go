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
		{"renews every period", budgetComesBack},
		{"survives requests of an older generation", budgetOldGeneration},
	}
}

// budgetIsExact lets the fleet ask for more than there is, at once.
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
				return fmt.Errorf("asking for probes: %w", err)
			}
			granted.Add(int64(grants[0].Granted))
		}
		return nil
	})
	if got := granted.Load(); got != budget {
		r.Errorf("a budget of %d for %d workers who want about %d: got %d granted, want exactly %d", budget, workers, workers*asks*2, got, budget)
	}
}

// budgetInBatches has batches of the same records in many orders, of which some databases make a deadlock.
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
				return fmt.Errorf("asking for probes of %d records, in another order than others have: %w", records, err)
			}
			for j, n := range order {
				granted[n].Add(int64(grants[j].Granted))
			}
		}
		return nil
	})
	for n := range granted {
		if got := granted[n].Load(); got != budget {
			r.Errorf("record %d: got %d granted, want exactly the budget, %d", n, got, budget)
		}
	}
}

// budgetComesBack asks until a few budgets were used up. A grant that is told before the remaining time after an earlier question
// belongs to the same period as the answer to that, however slow the machine is.
func budgetComesBack(r *fixture) {
	const every, budget, periods = 150 * time.Millisecond, 5, 4
	stores := append(r.Handles(2), r.Store)
	q := r.halfOpen(1)
	q.Every, q.Budget = every, budget
	var end time.Time // of the period, at the earliest
	inPeriod, total, asks := 0, 0, 0
	r.until(fmt.Sprintf("a budget of %d every %v was not granted %d times", budget, every, periods), func() bool {
		asked := time.Now()
		g := r.probe(stores[asks%len(stores)], q)
		asks++
		r.expectBetween("Remaining", g.Remaining, 0, every)
		if answered := time.Now(); !answered.Before(end.Add(-tolerance)) {
			end, inPeriod = asked.Add(g.Remaining), 0
		}
		inPeriod += g.Granted
		total += g.Granted
		if inPeriod > budget {
			r.Fatalf("budget of %d every %v: got %d granted in one period", budget, every, inPeriod)
		}
		return total >= periods*budget
	})
}

// budgetOldGeneration has an agent that is behind: its requests must not give the others a new budget.
func budgetOldGeneration(r *fixture) {
	other := r.Handle()
	behind := r.halfOpen(1)
	ahead := behind
	ahead.Generation++
	behind.Want, ahead.Want = behind.Budget, ahead.Budget
	r.take("the generation before", other, behind, behind.Budget)
	r.take("the generation", r.Store, ahead, ahead.Budget)
	r.take("the generation before, whose budget is used", other, behind, 0)
	r.take("the generation, after one who is behind has asked", r.Store, ahead, 0)
}
