package limits

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// freezable is a store that can be frozen, so that it does not answer.
type freezable interface {
	Freeze(t testing.TB)
	Thaw(t testing.TB)
}

// restartable is a server that can be killed and restarted.
type restartable interface {
	freezable
	Kill(t testing.TB)
	Restart(t testing.TB)
}

// locked is a file with a database. Freeze locks it.
type locked struct{ *sql.DB }

func (l locked) Freeze(t testing.TB) { l.exec(t, "BEGIN IMMEDIATE") }

func (l locked) Thaw(t testing.TB) { l.exec(t, "ROLLBACK") }

func (l locked) exec(t testing.TB, statement string) { // on the only connection
	if _, err := l.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(statement, ": ", err)
	}
}

// frozen checks that the local share decides while the store does not answer, and the store afterwards. Package bucket tests the other
// policies.
func frozen(t *testing.T, e engine, server freezable) {
	j := job{
		Name: "share", Limit: bucket.Limit{Capacity: 30, Refill: 25, Period: time.Second}, // a third of them is a whole number too
		Policy: bucket.LocalShare, Timeout: 250 * time.Millisecond, Pause: 200 * time.Millisecond,
	}
	f := newFleet(t, e, "frozen", j)
	f.awaitGrants(t)
	server.Freeze(t)
	from := time.Now().UnixNano()
	program.Eventually(t, "the policy decides", func() string {
		for _, name := range f.names() {
			if n := len(f.answers(t, name, j.Name).that(within(from, time.Now().UnixNano()))); n < 2*callers {
				return fmt.Sprintf("%s has %d answers", name, n)
			}
		}
		return ""
	})
	to := time.Now().UnixNano()
	server.Thaw(t)
	f.awaitGrants(t)
	t.Logf("frozen for %v; the store grants again after %v", time.Duration(to-from), time.Duration(time.Now().UnixNano()-to))
	f.stop(t)
	f.checkStore(t, j, 0)
	f.checkShare(t, j, from, to)
}

// awaitGrants waits until the store has granted a token to each agent from now on.
func (f *fleet) awaitGrants(t *testing.T) {
	t.Helper()
	begun := time.Now()
	program.Eventually(t, "the store grants", func() string { return f.idle(t, begun, "") })
}

// within accepts requests that began and were answered in an interval.
func within(from, to int64) func(decision) bool {
	return func(d decision) bool { return d.Asked > from && d.Outcome >= failed && d.Answered < to }
}

// checkStore checks that the store did not grant too much, apart from lost tokens that may be granted
// again.
func (f *fleet) checkStore(t *testing.T, j job, lost int64) {
	t.Helper()
	h := f.all(t, j.Name).that(fromStore)
	if fault := f.judge(j).tooMuch(h, lost); fault != "" {
		t.Errorf("%s: the store granted %s", j.Name, fault)
	}
}

// checkShare checks that each process grants at most its share of the limit, and some of it.
func (f *fleet) checkShare(t *testing.T, j job, from, to int64) {
	t.Helper()
	share := f.judge(j)
	share.limit.Capacity /= processes
	share.limit.Period *= processes
	for _, name := range f.names() {
		own := f.answers(t, name, j.Name).that(func(d decision) bool { return !fromStore(d) })
		if fault := share.tooMuch(own, 0); fault != "" {
			t.Errorf("share: %s granted %s", name, fault)
		}
	}
	f.checkTwice(t, j, 0)
	h := f.all(t, j.Name).that(within(from, to))
	if n, stored := len(h.that(granted)), len(h.that(fromStore)); n == 0 || n == len(h) || stored > 0 {
		t.Errorf("share: %d of %d were granted while the store was frozen, %d are of the store", n, len(h), stored)
	}
}

// checkLoss checks a fleet whose buckets may have been lost since from.
func (f *fleet) checkLoss(t *testing.T, from time.Time, lost int64) {
	t.Helper()
	to := time.Now()
	program.Eventually(t, "enough tokens were available after it", func() string {
		for _, j := range f.Jobs {
			after := f.all(t, j.Name).asked(to.UnixNano())
			if u := f.judge(j).used(after); u.budget < 1.4*float64(j.Limit.Capacity) {
				return fmt.Sprintf("%s: %v", j.Name, u)
			}
		}
		return ""
	})
	f.stop(t)
	for _, j := range f.Jobs {
		f.checkStore(t, j, lost*j.Limit.Capacity)
		judge, h := f.judge(j), f.all(t, j.Name)
		before := h.that(func(d decision) bool { return d.Outcome == answered && d.Answered < from.UnixNano() })
		after := h.asked(to.UnixNano())
		for when, h := range map[string]history{"before": before, "after": after} {
			if fault := judge.tooMuch(h, 0); fault != "" {
				t.Errorf("%s, %s it: %s", j.Name, when, fault)
			}
		}
		u := judge.used(after)
		inFlight := len(h.that(func(d decision) bool { return granted(d) && d.Asked <= to.UnixNano() && d.Answered > to.UnixNano() }))
		if u.tokens+u.perhaps+int64(inFlight) < int64(u.budget)-j.Limit.Capacity-1 { // of a bucket that was no longer full
			t.Errorf("%s, after it: got %v", j.Name, u)
		}
		t.Logf("%s: %d tokens before it, %d after it", j.Name, len(before.that(granted)), len(after.that(granted)))
	}
}

// killed checks that a server that is gone for a while loses buckets at most as often as lost says.
func killed(t *testing.T, e engine, lost int64, restart func()) {
	jobs := contested(e)
	for i := range jobs {
		jobs[i].Timeout = time.Second
	}
	f := newFleet(t, e, "restarted", jobs...)
	f.awaitBudget(t, 0.6)
	from := time.Now()
	restart()
	f.awaitGrants(t)
	f.checkLoss(t, from, lost)
}

// startsCold checks that processes that start under load keep the limit, and that callers with random buckets do not
// take it off other buckets. The policy is the default one.
func startsCold(t *testing.T, e engine) {
	j := job{Name: "cold", Keys: 16, Limit: bucket.PerSecond(12), Pause: 20 * time.Millisecond}
	flood := job{Name: "flood", Callers: 160, Keys: anyKey, Limit: bucket.PerSecond(1000), Pause: time.Millisecond}
	f := newFleet(t, e, "startscold", j, flood)
	f.run(t, time.Second)
	f.kill(t, "c")
	f.start(t, "d")
	f.awaitLine(t, "d", "ready")
	f.run(t, time.Second)
	f.stop(t)
	f.checkTwice(t, j, j.Limit.Capacity/3) // the share that the killed one of three processes had used
}

// checkTwice checks that the buckets of a job grant at most twice the limit, that of the store and the
// shares of the processes, and some tokens beyond it.
func (f *fleet) checkTwice(t *testing.T, j job, beyond int64) {
	t.Helper()
	twice, keys := f.judge(j), map[string]history{}
	twice.limit.Capacity, twice.limit.Refill = 2*twice.limit.Capacity, 2*twice.limit.Refill
	for _, d := range f.all(t, j.Name) {
		key := j.key(int(d.Who))
		keys[key] = append(keys[key], d)
	}
	for key, own := range keys {
		store := own.that(fromStore)
		if fault := twice.tooMuch(own, beyond); fault != "" {
			t.Errorf("%s: store and processes granted %s", key, fault)
		}
		if fault := f.judge(j).tooMuch(store, 0); fault != "" {
			t.Errorf("%s: the store granted %s", key, fault)
		}
		t.Logf("%s: the store decided %d of %d", key, len(store), len(own))
	}
}
