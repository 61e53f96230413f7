package limits

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestRedis(t *testing.T) {
	t.Parallel()
	server := program.Redis(t)
	e := engine{Name: "redis", Address: server.Address, Tick: time.Microsecond}
	durable := func(fsync string) func(t *testing.T) {
		return func(t *testing.T) {
			server := program.Redis(t, "--appendonly", "yes", "--appendfsync", fsync)
			e := engine{Name: "redis", Address: server.Address, Tick: time.Microsecond}
			killed(t, e, 0, func() { server.Kill(t); server.Restart(t) })
		}
	}
	runScenarios(
		t, e, server, 1,
		scenario{"a file keeps the buckets", "redis", durable("always")},
		scenario{"a file keeps the buckets, without an fsync for each", "", durable("no")},
		scenario{"a replica whose clock is ahead is promoted", "redis", func(t *testing.T) { promotes(t, clockError) }},
		scenario{"a replica whose clock is behind is promoted", "", func(t *testing.T) { promotes(t, -clockError) }},
	)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := program.Postgres(t)
	e := engine{Name: "postgres", Address: server.DSN(""), Tick: time.Microsecond}
	lock := &locked{engine: e, lock: []string{"BEGIN", "LOCK TABLE spillway_bucket IN ACCESS EXCLUSIVE MODE"}, unlock: []string{"ROLLBACK"}}
	runScenarios(t, e, server, 0, ofDatabase(t, e, server, server.DSN("statement_timeout=100"), lock)...)
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := program.MariaDB(t, "")
	e := engine{Name: "mariadb", Address: server.DSN("interpolateParams=true"), Tick: time.Microsecond}
	lock := &locked{engine: e, lock: []string{"LOCK TABLES spillway_bucket WRITE"}, unlock: []string{"UNLOCK TABLES"}}
	runScenarios(t, e, server, 0, ofDatabase(t, e, server, server.DSN("interpolateParams=true&max_statement_time=0.1"), lock)...)
}

// ofDatabase returns the scenarios of database servers. Hasty is a DSN whose statements have a timeout.
func ofDatabase(outer *testing.T, e engine, server clocked, hasty string, lock *locked) []scenario {
	return []scenario{
		{"statements have a timeout", e.Name, func(t *testing.T) {
			e := e
			e.Address = hasty
			frozen(t, e, lock, longTimeout)
		}},
		{"another clock, ahead", e.Name, restartsWithClock(outer, e, server, clockError)},
		{"another clock, behind", e.Name, restartsWithClock(outer, e, server, 0)},
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	e := engine{Name: "sqlite", Address: filepath.Join(t.TempDir(), "buckets.db"), Tick: time.Millisecond, Slow: true}
	runScenarios(t, e, &locked{engine: e, lock: []string{"BEGIN IMMEDIATE"}, unlock: []string{"ROLLBACK"}}, 0)
}

// scenario is a test of an engine.
type scenario struct {
	name  string
	short string // the engine that runs it with -short
	run   func(t *testing.T)
}

// runScenarios runs all scenarios on an engine. With -short it runs some: frozen and killed processes, and
// those that differ by engine. Lost is how often buckets are lost if the server is killed.
func runScenarios(t *testing.T, e engine, server freezable, lost int64, own ...scenario) {
	if err := e.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	outer := t // a restarted server must live until the end of the whole test
	for _, scenario := range append([]scenario{
		{"three processes", "", func(t *testing.T) { newFleet(t, e, "plain", contested(e)...).runAndCheck(t, nil) }},
		{"one process is frozen, one is killed", e.Name, func(t *testing.T) {
			f := newFleet(t, e, "frozenkilled", contested(e)...)
			f.runAndCheck(t, func(t *testing.T) { f.stopOne(t); f.replaceOne(t) })
		}},
		{"all callers wait", "sqlite", func(t *testing.T) { servesAllWaiters(t, e) }},
		{"leases", "redis", func(t *testing.T) { fetchesAhead(t, e) }},
		{"the store is frozen", "postgres", func(t *testing.T) { frozen(t, e, server, policyTimeout) }},
		{"the store is flushed", "redis", func(t *testing.T) { flushed(t, e) }},
		{"the store is killed", "mariadb", func(t *testing.T) {
			if server, ok := server.(restartable); ok {
				killed(t, e, lost, func() { server.Kill(outer); server.Restart(outer) })
			}
		}},
		{"500 callers of random buckets", "postgres", func(t *testing.T) { flooded(t, e, 500) }},
		{"2000 callers of random buckets", "", func(t *testing.T) { flooded(t, e, 2000) }},
		{"processes start under load", e.Name, func(t *testing.T) { startsCold(t, e) }},
	}, own...) {
		if !testing.Short() || scenario.short == e.Name {
			t.Run(scenario.name, scenario.run)
		}
	}
}

// contested returns jobs whose demand exceeds the limit.
func contested(e engine) []job {
	even, pace := bucket.Limit{Capacity: 100, Refill: 50, Period: time.Second}, 150*time.Millisecond
	grid := bucket.Limit{Capacity: 40, Period: 500 * time.Millisecond, Algorithm: bucket.Fixed}
	if e.Slow {
		even.Capacity, even.Refill, grid.Capacity, pace = 90, 30, 20, 1800*time.Millisecond
	}
	return []job{
		{Name: "together", Mode: takeMode, Limit: even, Policy: bucket.FailClosed, Timeout: longTimeout, Pause: pace},
		{Name: "one by one", Mode: takeMode, Limit: even, Policy: bucket.FailClosed, Timeout: longTimeout, Pause: pace, OneByOne: true},
		{Name: "fixed", Mode: takeMode, Limit: grid, Policy: bucket.FailClosed, Timeout: longTimeout, Pause: pace},
	}
}

// enough is the least budget for a verdict. One hundredth of it is more than the token that may be left
// at a denial.
func (j job) enough() float64 {
	if j.Limit.Algorithm == bucket.Fixed {
		return float64(4 * j.Limit.Capacity)
	}
	return float64(j.Limit.Capacity + 2*j.Limit.Refill)
}

// runAndCheck runs a fleet until its budget is enough for a verdict, and checks it. It calls happens in
// the middle.
func (f *fleet) runAndCheck(t *testing.T, happens func(*testing.T)) {
	t.Helper()
	if happens != nil {
		f.awaitBudget(t, 0.5)
		happens(t)
	}
	f.awaitBudget(t, 1)
	sums := f.stop(t)
	for _, j := range f.Jobs {
		if j.Limit.Algorithm == bucket.Fixed {
			f.checkFixed(t, j)
		} else {
			f.checkContinuous(t, j)
		}
	}
	f.checkCounts(t, sums)
	f.checkUnfailing(t)
}

// awaitBudget waits until the budget of each bucket is a part of enough.
func (f *fleet) awaitBudget(t *testing.T, part float64) {
	t.Helper()
	program.Eventually(t, "enough tokens were available", func() string {
		for _, j := range f.Jobs {
			if u := f.use(t, j); u.budget < part*j.enough() {
				return fmt.Sprintf("%s: %v", j.Name, u)
			}
		}
		return ""
	})
}

func (f *fleet) use(t *testing.T, j job) use {
	t.Helper()
	h := f.all(t, j.Name, byCaller)
	if j.Limit.Algorithm == bucket.Fixed {
		return f.judge(j).fixedUsed(h)
	}
	return f.judge(j).used(h)
}

func (f *fleet) checkContinuous(t *testing.T, j job) {
	t.Helper()
	judge := f.judge(j)
	beyond := map[level]int64{byStore: f.givenBack(t, j)}
	for l, words := range map[level]string{byCaller: "callers", byStore: "the store's answers"} {
		h := f.all(t, j.Name, l)
		if fault := judge.tooMuch(h, beyond[l]); fault != "" {
			t.Errorf("%s, %s: %s", j.Name, words, fault)
		}
		if fault := judge.used(h).tooLittle(0.99); fault != "" {
			t.Errorf("%s, %s: got %s, want 99 %%", j.Name, words, fault)
		}
	}
	h := f.all(t, j.Name, byCaller)
	t.Logf("%s: %v; %d asked", j.Name, judge.used(h), len(h))
}

func (f *fleet) checkFixed(t *testing.T, j job) {
	t.Helper()
	judge, h := f.judge(j), f.all(t, j.Name, byCaller)
	if fault := judge.fixedTooMuch(h); fault != "" {
		t.Errorf("%s: %s", j.Name, fault)
	}
	if fault := judge.fixedUsed(h).tooLittle(0.99); fault != "" {
		t.Errorf("%s: got %s, want 99 %%", j.Name, fault)
	}
	t.Logf("%s: %v; %d asked", j.Name, judge.fixedUsed(h), len(h))
}

// checkUnfailing checks that no call of a healthy store failed, so that no policy decided. SQLite may
// fail: waiting for its lock is unfair, and may take longer than the timeout on a slow machine.
func (f *fleet) checkUnfailing(t *testing.T) {
	t.Helper()
	for _, j := range f.Jobs {
		n := len(f.all(t, j.Name, byCaller).that(func(d decision) bool { return d.Outcome == failed || !fromStore(d) }))
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
			n := len(f.answers(t, name, j.Name, byCaller).that(func(d decision) bool {
				return granted(d) && fromStore(d) && d.Asked > since.UnixNano()
			}))
			if name != but && n == 0 {
				return name + " is granted nothing of " + j.Name
			}
		}
	}
	return ""
}
