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
	everything(t, engine{"redis", server.Address, time.Microsecond, false}, server)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server := program.Postgres(t)
	everything(t, engine{"postgres", server.DSN(""), time.Microsecond, false}, server)
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := program.MariaDB(t)
	everything(t, engine{"mariadb", server.DSN("interpolateParams=true"), time.Microsecond, false}, server)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	file := &file{engine: engine{"sqlite", filepath.Join(t.TempDir(), "buckets.db"), time.Millisecond, true}}
	everything(t, file.engine, file)
}

// everything runs all scenarios on an engine. With -short it runs two, of which the second is another one on each engine.
func everything(t *testing.T, e engine, server icy) {
	if err := e.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	outer := t // a server that was restarted lasts as long
	for _, scenario := range []struct {
		name  string
		short string // the engine that runs it with -short
		run   func(t *testing.T)
	}{
		{"three processes", "", func(t *testing.T) { newFleet(t, e, "plain", contested(e)...).settle(t, nil) }},
		{"one is stopped, and one is killed", e.Name, func(t *testing.T) {
			f := newFleet(t, e, "maltreated", contested(e)...)
			f.settle(t, func(t *testing.T) { f.stopOne(t); f.replaceOne(t) })
		}},
		{"all wait in line", "sqlite", func(t *testing.T) { everybodyIsServed(t, e) }},
		{"some is fetched ahead", "redis", func(t *testing.T) { fetchesAhead(t, e) }},
		{"who comes again as told", "sqlite", func(t *testing.T) { comesAgain(t, e) }},
		{"the store is frozen", "postgres", func(t *testing.T) { frozen(t, e, server) }},
		{"the store is flushed", "redis", func(t *testing.T) { flushed(t, e) }},
		{"the store is killed", "mariadb", func(t *testing.T) {
			if server, ok := server.(mortal); ok {
				killed(t, e, func() { server.Kill(outer); server.Restart(outer) })
			}
		}},
	} {
		if !testing.Short() || scenario.short == e.Name {
			t.Run(scenario.name, scenario.run)
		}
	}
}

// contested are buckets of which more is asked for than there is.
func contested(e engine) []job {
	even, pace := bucket.Limit{Capacity: 100, Refill: 50, Period: time.Second}, 150*time.Millisecond
	grid := bucket.Limit{Capacity: 40, Period: 500 * time.Millisecond, Algorithm: bucket.Fixed}
	if e.Slow {
		even.Capacity, even.Refill, grid.Capacity, pace = 90, 30, 20, 1800*time.Millisecond
	}
	return []job{
		{Name: "together", Manner: asks, Limit: even, Policy: bucket.FailClosed, Timeout: patient, Pace: pace},
		{Name: "one by one", Manner: asks, Limit: even, Policy: bucket.FailClosed, Timeout: patient, Pace: pace, OneByOne: true},
		{Name: "fixed", Manner: asks, Limit: grid, Policy: bucket.FailClosed, Timeout: patient, Pace: pace},
	}
}

// enough is how much a bucket must have had to grant before there is a verdict. A hundredth of it is more than the token that may be there
// when somebody is denied.
func (j job) enough() float64 {
	if j.Limit.Algorithm == bucket.Fixed {
		return float64(4 * j.Limit.Capacity)
	}
	return float64(j.Limit.Capacity + 2*j.Limit.Refill)
}

// settle lets a fleet work until there was enough to be granted, with something that happens in the middle, and judges it.
func (f *fleet) settle(t *testing.T, happens func(*testing.T)) {
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

// awaitBudget waits until the buckets have had a part of enough to grant.
func (f *fleet) awaitBudget(t *testing.T, part float64) {
	t.Helper()
	program.Eventually(t, "there was enough to be granted", func() string {
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
	faults, early, late := judge.retries(h)
	for _, fault := range faults {
		t.Errorf("%s: %s", j.Name, fault)
	}
	t.Logf("%s: %v; %d asked; of the denials %d can tell whether RetryAfter is too long, and %d whether it is enough",
		j.Name, judge.used(h), len(h), early, late)
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
	for _, fault := range judge.fixedRetries(h) {
		t.Errorf("%s: %s", j.Name, fault)
	}
	t.Logf("%s: %v; %d asked", j.Name, judge.fixedUsed(h), len(h))
}

// checkUnfailing: a store that is well fails nobody, and no policy decides. Only SQLite may, because who waits for its lock stands in no line, and
// on a slow machine may wait for as long as anybody can.
func (f *fleet) checkUnfailing(t *testing.T) {
	t.Helper()
	for _, j := range f.Jobs {
		n := len(f.all(t, j.Name, byCaller).that(func(d decision) bool { return d.Outcome == failed || !fromStore(d) }))
		if n > 0 && !f.Engine.Slow {
			t.Errorf("%s: %d requests failed, of a store that was well", j.Name, n)
		}
	}
}

// stopOne stops a process in the middle of what it does, for as long as the others need for some more.
func (f *fleet) stopOne(t *testing.T) {
	f.agents["b"].Freeze(t)
	f.awaitOthers(t, "b")
	f.agents["b"].Thaw(t)
}

// replaceOne kills a process in the middle of what it does, and starts another.
func (f *fleet) replaceOne(t *testing.T) {
	f.kill(t, "c")
	f.start(t, "d")
	f.awaitOthers(t, "c")
}

// awaitOthers waits until all agents but one are granted more, or have waited for half a second: one that was stopped may hold a lock.
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

// idle says who was granted nothing by the store since.
func (f *fleet) idle(t *testing.T, since time.Time, but string) string {
	t.Helper()
	for _, name := range f.names() {
		for _, j := range f.Jobs {
			n := len(f.told(t, name, j.Name, byCaller).that(func(d decision) bool {
				return granted(d) && fromStore(d) && d.Asked > since.UnixNano()
			}))
			if name != but && n == 0 {
				return name + " is granted nothing of " + j.Name
			}
		}
	}
	return ""
}
