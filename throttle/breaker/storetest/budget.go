package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func budgetCases() []testCase {
	behind, ahead := asks(10), asks(10).in(2)
	return []testCase{
		{"is exact", func(r *fixture) { r.exactBudget(32, 8, 1, 100) }},
		// In some databases this causes deadlocks.
		{"is exact for calls in any order", func(r *fixture) { r.exactBudget(8, 6, 40, 10) }},
		{"renews every period", budgetRenews},
		// A manager that is behind must not reset the budget of the current generation.
		{"survives requests of an older generation", probeCase(behind.by(1), ahead, behind.by(1), ahead)},
	}
}

// exactBudget makes concurrent calls for more probes than the budget of each record. Each call has all
// records in another order.
func (r *fixture) exactBudget(workers, calls, records, budget int) {
	r.Helper()
	m, stores, granted := newProbeModel(r), r.Handles(4), make([]atomic.Int64, records)
	r.Together(workers, func(i int) error {
		random := rand.New(rand.NewPCG(8, uint64(i)))
		for call := range calls {
			order, requests := random.Perm(records), make([]store.ProbeRequest, records)
			for j, n := range order {
				requests[j] = m.request(asks(1 + (i+call+n)%3).of(n).within(budget))
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
		if got := granted[n].Load(); got != int64(budget) {
			r.Errorf("record %d: got %d granted by concurrent calls, want exactly the budget, %d", n, got, budget)
		}
	}
}

// budgetRenews makes requests until several budgets were used up. Let an answer arrive before
// the Remaining of an earlier one is over, counted from the request of the earlier one. Then both
// are in the same period, even on a slow machine.
func budgetRenews(r *fixture) {
	const every, budget, periods = 50 * time.Millisecond, 5, 4
	stores := append(r.Handles(2), r.Store)
	q := newProbeModel(r).request(asks(1).within(budget).every(every))
	var end time.Time // earliest end of the period
	inPeriod, total, calls := 0, 0, 0
	r.until(fmt.Sprintf("a budget of %d every %v was not granted %d times, want a new budget in each period", budget, every, periods), func() bool {
		asked := time.Now()
		g := r.probes(stores[calls%len(stores)], q)[0]
		calls++
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
