package limits

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestRedis(t *testing.T) {
	t.Parallel()
	server := program.Redis(t)
	runScenarios(t, engine{Name: "redis", Address: server.Address, Tick: time.Microsecond}, server, 1)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := program.Postgres(t)
	runScenarios(t, engine{Name: "postgres", Address: server.DSN(""), Tick: time.Microsecond}, server, 0)
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := program.MariaDB(t, "")
	runScenarios(t, engine{Name: "mariadb", Address: server.DSN("interpolateParams=true"), Tick: time.Microsecond}, server, 0)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	e := engine{Name: "sqlite", Address: filepath.Join(t.TempDir(), "buckets.db"), Tick: time.Millisecond, Slow: true}
	db := throttle.Must(e.openSQL(longTimeout))
	defer db.Close()
	runScenarios(t, e, locked{db}, 0)
}

// runScenarios runs all scenarios on an engine. With -short it runs some: frozen and killed processes, and
// those that differ by engine. Lost is how often buckets are lost if the server is killed.
func runScenarios(t *testing.T, e engine, server freezable, lost int64) {
	must(t, e.prepare(t.Context()))
	outer := t // a restarted server must live until the end of the whole test
	for _, scenario := range []struct {
		name  string
		short string // the engines that run it with -short
		run   func(t *testing.T)
	}{
		{"one process is frozen, one is killed", e.Name, func(t *testing.T) {
			f := newFleet(t, e, "frozenkilled", contested(e)...)
			f.runAndCheck(t, func(t *testing.T) { f.stopOne(t); f.replaceOne(t) })
		}},
		{"leases, of which one is frozen", "redis", func(t *testing.T) {
			f := newFleet(t, e, "leases", job{
				Name: "ahead", Policy: bucket.FailClosed, Timeout: longTimeout, Pause: 100 * time.Millisecond, Lease: 4,
				Limit: bucket.Limit{Capacity: 400, Refill: 400, Period: time.Second},
			})
			f.runAndCheck(t, f.stopOne)
		}},
		{"the store is frozen", "postgres", func(t *testing.T) { frozen(t, e, server) }},
		{"the store is killed", "redis mariadb", func(t *testing.T) {
			if server, ok := server.(restartable); ok {
				killed(t, e, lost, func() { server.Kill(outer); server.Restart(outer) })
			}
		}},
		{"processes start under load", e.Name, func(t *testing.T) { startsCold(t, e) }},
	} {
		if !testing.Short() || strings.Contains(scenario.short, e.Name) {
			t.Run(scenario.name, scenario.run)
		}
	}
}

// contested returns jobs whose demand exceeds the limit.
func contested(e engine) []job {
	even, pace := bucket.Limit{Capacity: 100, Refill: 50, Period: time.Second}, 150*time.Millisecond
	if e.Slow {
		even.Capacity, even.Refill, pace = 90, 30, 1800*time.Millisecond
	}
	return []job{
		{Name: "together", Limit: even, Policy: bucket.FailClosed, Timeout: longTimeout, Pause: pace},
		{Name: "one by one", Limit: even, Policy: bucket.FailClosed, Timeout: longTimeout, Pause: pace, OneByOne: true},
	}
}

// enough is the least budget for a verdict. One hundredth of it is more than the token that may be left
// at a denial.
func (j job) enough() float64 {
	return float64(j.Limit.Capacity + 2*j.Limit.Refill)
}

// runAndCheck runs a fleet until its budget is enough for a verdict, and checks it. It calls happens in
// the middle.
func (f *fleet) runAndCheck(t *testing.T, happens func(*testing.T)) {
	t.Helper()
	f.awaitBudget(t, 0.5)
	happens(t)
	f.awaitBudget(t, 1)
	f.stop(t)
	for _, j := range f.Jobs {
		f.check(t, j)
	}
	f.checkUnfailing(t)
}

// awaitBudget waits until the budget of each bucket is a part of enough.
func (f *fleet) awaitBudget(t *testing.T, part float64) {
	t.Helper()
	program.Eventually(t, "enough tokens were available", func() string {
		for _, j := range f.Jobs {
			if u := f.judge(j).used(f.all(t, j.Name)); u.budget < part*j.enough() {
				return fmt.Sprintf("%s: %v", j.Name, u)
			}
		}
		return ""
	})
}

// check checks that callers kept the limit, and used it. The tokens of leases may be granted later.
func (f *fleet) check(t *testing.T, j job) {
	t.Helper()
	ahead, least := processes*j.Lease, 0.99
	if j.Lease > 0 {
		least = 0.97
	}
	callers := f.all(t, j.Name)
	if fault := f.judge(j).tooMuch(callers, ahead); fault != "" {
		t.Errorf("%s: callers got %s", j.Name, fault)
	}
	u := f.judge(j).used(callers)
	if fault := u.tooLittle(least); fault != "" {
		t.Errorf("%s: got %s, want %.0f %%", j.Name, fault, 100*least)
	}
	leased := len(callers.that(func(d decision) bool { return granted(d) && d.Source == bucket.SourceLease }))
	if (leased > 0) != (j.Lease > 0) {
		t.Errorf("%s: %d tokens were granted out of leases of %d", j.Name, leased, j.Lease)
	}
	t.Logf("%s: %v; %d asked, %d granted out of leases", j.Name, u, len(callers), leased)
}

// checkUnfailing checks that no call of a healthy store failed, so that no policy decided. SQLite may
// fail: waiting for its lock is unfair, and may take longer than the timeout on a slow machine.
func (f *fleet) checkUnfailing(t *testing.T) {
	t.Helper()
	for _, j := range f.Jobs {
		n := len(f.all(t, j.Name).that(func(d decision) bool { return d.Outcome == failed || !fromStore(d) }))
		if n > 0 && !f.Engine.Slow {
			t.Errorf("%s: %d requests of a healthy store failed", j.Name, n)
		}
	}
}

// stopOne freezes a process in the middle of its work until the others have got more tokens.
func (f *fleet) stopOne(t *testing.T) {
	f.agents["b"].Freeze(t)
	f.awaitOthers(t, "b")
	f.agents["b"].Thaw(t)
}

// replaceOne kills a process in the middle of its work, and starts another.
func (f *fleet) replaceOne(t *testing.T) {
	f.kill(t, "c")
	f.start(t, "d")
	f.awaitOthers(t, "c")
}

// awaitOthers waits until all other agents have got a token, or for half a second, because a frozen agent
// may hold a lock.
func (f *fleet) awaitOthers(t *testing.T, but string) {
	t.Helper()
	begun := time.Now()
	program.Eventually(t, "the others go on", func() string {
		if time.Since(begun) > 500*time.Millisecond {
			return ""
		}
		return f.idle(t, begun, but)
	})
}

// idle returns the agents that got no token from the store since then.
func (f *fleet) idle(t *testing.T, since time.Time, but string) string {
	t.Helper()
	for _, name := range f.names() {
		for _, j := range f.Jobs {
			n := len(f.answers(t, name, j.Name).that(func(d decision) bool {
				return granted(d) && fromStore(d) && d.Asked > since.UnixNano()
			}))
			if name != but && n == 0 {
				return name + " is granted nothing of " + j.Name
			}
		}
	}
	return ""
}
