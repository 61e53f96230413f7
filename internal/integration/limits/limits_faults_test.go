package limits

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
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

// locked is a database. Freeze locks its buckets.
type locked struct {
	engine

	lock, unlock []string
	db           *sql.DB
	conn         *sql.Conn
}

func (l *locked) Freeze(t testing.TB) {
	db, err := l.openSQL(longTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if l.db = db; l.conn == nil {
		if l.conn, err = db.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.exec(t, l.lock)
}

func (l *locked) Thaw(t testing.TB) {
	l.exec(t, l.unlock)
	_, l.conn = l.conn.Close(), nil
	if err := l.db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (l *locked) exec(t testing.TB, statements []string) {
	for _, s := range statements {
		if _, err := l.conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(s, ": ", err)
		}
	}
}

// policyTimeout is the timeout of stores that are frozen.
const policyTimeout = 250 * time.Millisecond

// policyJobs returns a job for each failure policy.
func policyJobs(timeout time.Duration) []job {
	limit := bucket.Limit{Capacity: 30, Refill: 25, Period: time.Second} // a third of them is a whole number too
	const pace = 200 * time.Millisecond
	return []job{
		{Name: "closed", Mode: takeMode, Limit: limit, Policy: bucket.FailClosed, Timeout: timeout, Pause: pace},
		{Name: "open", Mode: takeMode, Limit: limit, Policy: bucket.FailOpen, Timeout: timeout, Pause: pace},
		{Name: "share", Mode: takeMode, Limit: limit, Policy: bucket.LocalShare, Timeout: timeout, Pause: pace},
	}
}

// frozen checks that each policy decides while the store does not answer, and the store afterwards.
func frozen(t *testing.T, e engine, server freezable, timeout time.Duration) {
	f := newFleet(t, e, fmt.Sprint("frozen", rand.Uint32()), policyJobs(timeout)...)
	f.awaitGrants(t)
	server.Freeze(t)
	from := time.Now().UnixNano()
	program.Eventually(t, "the policies decide", func() string {
		for _, name := range f.names() {
			for _, j := range f.Jobs {
				if n := len(f.answers(t, name, j.Name, byCaller).that(within(from, time.Now().UnixNano()))); n < 2*callers {
					return fmt.Sprintf("%s has %d answers of %s", name, n, j.Name)
				}
			}
		}
		return ""
	})
	to := time.Now().UnixNano()
	server.Thaw(t)
	f.awaitGrants(t)
	t.Logf("frozen for %v; the store grants again after %v", time.Duration(to-from), time.Duration(time.Now().UnixNano()-to))
	f.checkCounts(t, f.stop(t))
	f.checkFrozen(t, "closed", func(d decision) bool { return !granted(d) }, from, to)
	f.checkFrozen(t, "open", func(d decision) bool { return granted(d) && !fromStore(d) }, from, to)
	f.checkShare(t, from, to)
	for _, j := range f.Jobs {
		f.checkStore(t, j, 0)
	}
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
	h := f.all(t, j.Name, byCaller).that(fromStore)
	if fault := f.judge(j).tooMuch(h, lost); fault != "" {
		t.Errorf("%s: the store granted %s", j.Name, fault)
	}
	if fault := f.judge(j).tooMuch(f.all(t, j.Name, byStore), lost+f.givenBack(t, j)); fault != "" {
		t.Errorf("%s: the store answered %s", j.Name, fault)
	}
}

// grantedTwice returns how many tokens may be granted twice if a bucket is lost while statements wait
// for its row. The time of such a statement is its beginning, so the bucket is full for it from then on.
// A Redis script does not wait.
func (f *fleet) grantedTwice(t *testing.T, j job, from, to int64) int64 {
	t.Helper()
	if f.Engine.Name == "redis" {
		return 0
	}
	longest := int64(0)
	for _, d := range f.all(t, j.Name, byStore) {
		if d.Asked <= to && d.Answered >= from && granted(d) {
			longest = max(longest, d.Answered-d.Asked)
		}
	}
	return longest/int64(j.Limit.Interval()) + 1
}

// givenBack returns how many tokens were returned to the store, or may have been.
func (f *fleet) givenBack(t *testing.T, j job) (tokens int64) {
	t.Helper()
	for _, d := range f.all(t, j.Name, back) {
		tokens += int64(d.Wanted)
	}
	return tokens
}

// checkFrozen checks the answers that a policy gave while the store was frozen.
func (f *fleet) checkFrozen(t *testing.T, name string, want func(decision) bool, from, to int64) {
	t.Helper()
	h := f.all(t, name, byCaller).that(within(from, to))
	if n := len(h.that(want)); n < len(h) || n == 0 {
		t.Errorf("%s: %d of %d answers are as the policy gives them", name, n, len(h))
	}
	t.Logf("%s: %d answers while frozen", name, len(h))
}

// checkShare checks that each process grants at most its share of the limit, so that processes and store
// together grant at most twice the limit.
func (f *fleet) checkShare(t *testing.T, from, to int64) {
	t.Helper()
	j := f.Jobs[slices.IndexFunc(f.Jobs, func(j job) bool { return j.Name == "share" })]
	share := f.judge(j)
	share.limit.Capacity /= processes
	share.limit.Period *= processes
	for _, name := range f.names() {
		own := f.answers(t, name, j.Name, byCaller).that(func(d decision) bool { return !fromStore(d) })
		if fault := share.tooMuch(own, 0); fault != "" {
			t.Errorf("share: %s granted %s", name, fault)
		}
	}
	h := f.all(t, j.Name, byCaller)
	both := f.judge(j)
	both.limit.Capacity *= 2
	both.limit.Refill *= 2
	if fault := both.tooMuch(h, 0); fault != "" {
		t.Errorf("share: store and processes granted %s", fault)
	}
	h = h.that(within(from, to))
	if n := len(h.that(granted)); n == 0 || n == len(h) {
		t.Errorf("share: %d of %d were granted while the store was frozen", n, len(h))
	}
	t.Logf("share: %d answers while frozen, of which %d grants", len(h), len(h.that(granted)))
}

// flushed checks that lost buckets are full again, once.
func flushed(t *testing.T, e engine) {
	f := newFleet(t, e, "flushed", contested(e)[:2]...)
	f.awaitBudget(t, 0.6)
	from := time.Now()
	if err := e.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.checkLoss(t, from, 1)
}

// checkLoss checks a fleet whose buckets may have been lost since from.
func (f *fleet) checkLoss(t *testing.T, from time.Time, lost int64) {
	t.Helper()
	to := time.Now()
	program.Eventually(t, "enough tokens were available after it", func() string {
		for _, j := range f.Jobs {
			after := f.all(t, j.Name, byCaller).that(func(d decision) bool { return d.Asked > to.UnixNano() })
			if u := f.judge(j).used(after); u.budget < 1.4*float64(j.Limit.Capacity) {
				return fmt.Sprintf("%s: %v", j.Name, u)
			}
		}
		return ""
	})
	f.checkCounts(t, f.stop(t))
	for _, j := range f.Jobs {
		f.checkStore(t, j, lost*(j.Limit.Capacity+f.grantedTwice(t, j, from.UnixNano(), to.UnixNano())))
		judge, h := f.judge(j), f.all(t, j.Name, byCaller)
		before := h.that(func(d decision) bool { return d.Outcome == answered && d.Answered < from.UnixNano() })
		after := h.that(func(d decision) bool { return d.Asked > to.UnixNano() })
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
	jobs := contested(e)[:2]
	for i := range jobs {
		jobs[i].Timeout = time.Second
	}
	f := newFleet(t, e, fmt.Sprint("restarted", rand.Uint32()), jobs...)
	f.awaitBudget(t, 0.6)
	from := time.Now()
	restart()
	f.awaitGrants(t)
	f.checkLoss(t, from, lost)
}
