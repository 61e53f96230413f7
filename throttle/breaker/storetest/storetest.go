package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// Run tests a store. It calls open once or twice for every case, each time for storage that holds nothing; what open makes it
// also cleans up, with t.Cleanup. The func that open returns gives a handle to that storage, and at each call another one as another process would have: with a
// client of its own or a shared one, whichever is the truer test. Run closes every handle that it was given, some of them twice.
// A store whose Close does nothing may give the same handle again.
//
// The storages of one test must live on one clock, because a storage that is emptied must begin with higher terms and other epochs than it had.
//
// Cases of [store.Watcher] are not run for a store that is none, and are skipped if Watch returns [errors.ErrUnsupported].
//
// While Run counts goroutines, at its end, no other test of the same process should start or end any.
func Run(t *testing.T, open func(t *testing.T) func() store.Store) {
	t.Helper()
	all := suite()
	if !isWatcher(t, open) {
		all.Groups = slices.DeleteFunc(all.Groups, func(g kit.Group[*fixture]) bool { return g.Name == watchGroup })
	}
	all.Run(t, open)
}

// isWatcher reports whether the handles that open makes are watchers.
func isWatcher(t *testing.T, open func(t *testing.T) func() store.Store) bool {
	t.Helper()
	s := open(t)()
	_, ok := s.(store.Watcher)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return ok
}

// watchGroup has the cases of watchers.
const watchGroup = "watch"

type testCase = kit.Case[*fixture]

func suite() kit.Suite[store.Store, *fixture] {
	return kit.Suite[store.Store, *fixture]{New: newFixture, Groups: []kit.Group[*fixture]{
		{Name: "lease", Cases: leaseCases()},
		{Name: "election", Cases: electionCases()},
		{Name: "version", Cases: versionCases()},
		{Name: "clock", Cases: clockCases()},
		{Name: "load", Cases: loadCases()},
		{Name: "data", Cases: dataCases()},
		{Name: "batch", Cases: batchCases()},
		{Name: "fence", Cases: fenceCases()},
		{Name: "snapshot", Cases: snapshotCases()},
		{Name: "race", Cases: raceCases()},
		{Name: "probe", Cases: probeCases()},
		{Name: "budget", Cases: budgetCases()},
		{Name: "context", Cases: contextCases()},
		{Name: watchGroup, Cases: watchCases()},
		{Name: "handle", Cases: handleCases()},
	}}
}

const (
	// long is the life of what must not end during a case.
	long = time.Hour
	// slack is what a duration of an hour may be off, for clocks that somebody sets meanwhile.
	longTolerance = 10 * time.Second
	// grain is what a short duration may be off, for clocks that count milliseconds.
	tolerance = 5 * time.Millisecond
)

// rig is what a case works with: storage that was empty, and handles on it.
type fixture struct {
	kit.Fixture[store.Store]
	openStorage func() func() store.Store
}

func newFixture(t kit.T, open func() func() store.Store) *fixture {
	return &fixture{kit.NewFixture(t, open()), open}
}

// emptied returns a handle on other, empty storage: what is left of a storage that has lost everything.
func (r *fixture) emptied() store.Store {
	other := kit.NewFixture(r.T, r.openStorage())
	return other.Store
}

// until waits for done to return true, and fails the case if it does not for long.
func (r *fixture) until(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(kit.Patience); !done(); r.Pause(tolerance) {
		if time.Now().After(end) {
			r.Fatalf("waited %v, but %s", kit.Patience, what)
		}
	}
}

// untilStoreTime waits for the store's clock.
func (r *fixture) untilStoreTime(at time.Time) {
	r.Helper()
	r.until(fmt.Sprintf("the store's clock (Versions().Now) has not reached %v", at), func() bool {
		return r.versions(r.Store).Now.After(at)
	})
}

// expectBetween wants a duration within bounds.
func (r *fixture) expectBetween(what string, got, low, high time.Duration) {
	r.Helper()
	if got < low || got > high {
		r.Errorf("%s: got %v, want %v to %v", what, got, low, high)
	}
}
