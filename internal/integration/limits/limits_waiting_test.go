package limits

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// everybodyIsServed: of those who wait nobody starves, and together they get what there is.
func everybodyIsServed(t *testing.T, e engine) {
	const rounds = 3
	j := job{
		Name: "line", Manner: waits, Policy: bucket.FailClosed, Timeout: patient, Rounds: rounds,
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
		if fault := starved(f.told(t, name, j.Name, byCaller), callers, rounds); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	f.checkCounts(t, sums)
	f.checkUnfailing(t)
	h, asked := f.all(t, j.Name, byCaller), len(f.all(t, j.Name, byStore))
	t.Logf("%v; %d waited, %s; the store was asked %d times", u, len(h), h.took(), asked)
}

// starved says who was not served as often as he asked. In which order they are served is for the tests of the bucket, which know when somebody has
// joined the line.
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

// patientJob is that of some who have a bucket each.
func patientJob() job {
	return job{
		Name: "own", Manner: quiet, Policy: bucket.FailClosed, Timeout: patient,
		Limit: bucket.Limit{Capacity: 2, Refill: 2, Period: 400 * time.Millisecond},
	}
}

// comesAgain: what a denial tells is enough, and not too much.
func comesAgain(t *testing.T, e engine) {
	const enough = 6
	j := patientJob()
	f := newFleet(t, e, "quiet", j)
	var faults []string
	program.Eventually(t, "somebody has come too early, and in time", func() string {
		var before, after int
		for _, name := range f.names() {
			wrong, b, a := f.judge(j).kept(f.told(t, name, j.Name, byCaller))
			faults, before, after = append(faults, wrong...), before+b, after+a
		}
		if len(faults) == 0 && (before < enough || after < enough) {
			return fmt.Sprintf("%d and %d want %d", before, after, enough)
		}
		t.Logf("%d were told and came too early, %d came in time", before, after)
		return ""
	})
	for _, fault := range faults {
		t.Error(fault)
	}
	f.checkCounts(t, f.stop(t))
	f.checkUnfailing(t)
}

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
	ahead := len(h.that(func(d decision) bool { return granted(d) && d.Source == bucket.SourceLease }))
	if ahead == 0 {
		t.Error("nothing was granted out of what was fetched ahead")
	}
	t.Logf("%v; %d asked, %d granted ahead; the store was asked %d times", u, len(h), ahead, len(store))
}
