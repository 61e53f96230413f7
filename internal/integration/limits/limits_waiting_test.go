package limits

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// servesAllWaiters checks that every caller of Wait is served, and that together they get the budget.
func servesAllWaiters(t *testing.T, e engine) {
	const rounds = 3
	j := job{
		Name: "line", Mode: waitMode, Policy: bucket.FailClosed, Timeout: longTimeout, Rounds: rounds,
		Limit: bucket.Limit{Capacity: 400, Refill: 100, Period: time.Second},
	}
	f := newFleet(t, e, "waiting", j)
	sums := f.sums(t)
	judge := f.judge(j)
	beyond := map[level]int64{byStore: f.givenBack(t, j)}
	for l, words := range map[level]string{byCaller: "waiters", byStore: "the store's answers"} {
		if fault := judge.tooMuch(f.all(t, j.Name, l), beyond[l]); fault != "" {
			t.Errorf("%s: %s", words, fault)
		}
	}
	u := judge.used(f.all(t, j.Name, byStore))
	if fault := u.tooLittle(0.99); fault != "" {
		t.Errorf("got %s, want 99 %%", fault)
	}
	for _, name := range f.names() {
		if fault := starved(f.answers(t, name, j.Name, byCaller), callers, rounds); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	f.checkCounts(t, sums)
	f.checkUnfailing(t)
	h, asked := f.all(t, j.Name, byCaller), len(f.all(t, j.Name, byStore))
	t.Logf("%v; %d waited; the store was asked %d times", u, len(h), asked)
}

// starved returns a waiter that was not served in each of its rounds. The tests of package bucket check
// the order in which waiters are served.
func starved(h history, waiters, rounds int) string {
	served := make([]int, waiters)
	for _, d := range h {
		if !granted(d) {
			return fmt.Sprintf("waiter %d was not served: %+v", d.Who, d)
		}
		served[d.Who]++
	}
	if least := slices.Min(served); least < rounds {
		return fmt.Sprintf("waiter %d was served %d times", slices.Index(served, least), least)
	}
	return ""
}

// fetchesAhead checks that processes with leases grant at most the limit and the tokens of their leases,
// and that they use the limit. In the middle one of them is frozen, with its lease.
func fetchesAhead(t *testing.T, e engine) {
	j := job{
		Name: "ahead", Mode: takeMode, Policy: bucket.FailClosed, Timeout: longTimeout, Pause: 100 * time.Millisecond, Lease: 4,
		Limit: bucket.Limit{Capacity: 400, Refill: 400, Period: time.Second},
	}
	f := newFleet(t, e, "leases", j)
	await := func(enough float64) {
		t.Helper()
		program.Eventually(t, "enough tokens were available", func() string {
			if budget, _ := f.judge(j).budget(f.all(t, j.Name, byStore)); budget < enough {
				return fmt.Sprint(budget)
			}
			return ""
		})
	}
	await(700)
	f.stopOne(t)
	await(1200)
	f.checkCounts(t, f.stop(t))
	f.checkUnfailing(t)
	h, store := f.all(t, j.Name, byCaller), f.all(t, j.Name, byStore)
	if fault := f.judge(j).tooMuch(h, processes*j.Lease); fault != "" {
		t.Errorf("used %s", fault)
	}
	budget, until := f.judge(j).budget(store)
	u := spent(h, until)
	u.budget = budget
	if fault := u.tooLittle(0.97); fault != "" {
		t.Errorf("got %s, want 97 %%", fault)
	}
	ahead := len(h.that(func(d decision) bool { return granted(d) && d.Source == bucket.SourceLease }))
	if ahead == 0 {
		t.Error("no token was granted out of a lease")
	}
	t.Logf("%v; %d asked, %d granted out of leases, %d calls of the store", u, len(h), ahead, len(store))
}
