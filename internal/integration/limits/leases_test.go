package limits

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// fetchesAhead: processes that fetch tokens ahead use no more than the limit and what all of them have fetched, and use it. In the middle one
// of them is stopped, with what it has.
func fetchesAhead(t *testing.T, e engine) {
	j := job{
		Name: "ahead", Manner: asks, Policy: bucket.FailClosed, Timeout: patient, Pace: 100 * time.Millisecond, Lease: 4,
		Limit: bucket.Limit{Capacity: 400, Refill: 400, Period: time.Second},
	}
	f := newFleet(t, e, "leases", j)
	await := func(enough float64) {
		t.Helper()
		program.Eventually(t, "there was enough to be granted", func() string {
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
	ahead := len(h.that(func(d decision) bool { return granted(d) && d.Source == bucket.FromLease }))
	if ahead == 0 {
		t.Error("nothing was granted out of what was fetched ahead")
	}
	t.Logf("%v; %d asked, %d granted ahead; the store was asked %d times", u, len(h), ahead, len(store))
}
