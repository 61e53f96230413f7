package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// Run runs the suite as subtests of t. It calls open once or twice for every case. Each call must
// return new, empty storage, and must clean it up with t.Cleanup.
//
// Each call of the func that open returns opens a handle on that storage, as another process would
// open it. Handles may have their own client or share one; choose what is closer to production. Run
// closes every handle, and some of them twice. If Close does nothing, the func may return the same
// handle again.
//
// All storage of one test must use the same clock. A store that has lost its data must begin with
// higher terms and other epochs than before.
//
// Run tests [store.Watcher] if the store implements it. It skips these cases otherwise, and if Watch
// returns [errors.ErrUnsupported].
//
// Run counts goroutines in its last cases. Other tests of the process must not start or end
// goroutines at that time.
func Run(t *testing.T, open func(t *testing.T) func() store.Store) {
	t.Helper()
	suite().Run(t, open)
}

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
		{Name: "context", Cases: kit.ContextCases((*fixture).endedContext, canceledMeanwhile)},
		{Name: "watch", Cases: watchCases()},
		{Name: "handle", Cases: kit.HandleCases(closeLeavesOthers, closeTwice, (*fixture).useAll)},
	}}
}

const (
	// long is the length of a lease or a period that must not end during a case.
	long = time.Hour
	// longTolerance is the tolerance for durations of an hour. A clock may be corrected during a
	// case.
	longTolerance = 10 * time.Second
	// tolerance is the tolerance for short durations. A clock may count milliseconds.
	tolerance = 5 * time.Millisecond
)

// fixture is what a case works with: storage that was empty, and handles on it.
type fixture struct {
	kit.Fixture[store.Store]
	openStorage func() func() store.Store
}

func newFixture(t kit.T, open func() func() store.Store) *fixture {
	return &fixture{kit.NewFixture(t, open()), open}
}

// emptied returns a handle on other, empty storage. It represents a storage that has lost its data.
func (r *fixture) emptied() store.Store {
	other := kit.NewFixture(r.T, r.openStorage())
	return other.Store
}

// until waits until done returns true. It stops the case after kit.Patience; what says what did not
// happen.
func (r *fixture) until(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(kit.Patience); !done(); r.Pause(tolerance) {
		if time.Now().After(end) {
			r.Fatalf("after %v: %s", kit.Patience, what)
		}
	}
}

func (r *fixture) untilStoreTime(at time.Time) {
	r.Helper()
	r.until(fmt.Sprintf("the store's clock (Versions().Now) has not reached %v", at), func() bool {
		return r.versions(r.Store).Now.After(at)
	})
}

func (r *fixture) expectBetween(what string, got, low, high time.Duration) {
	r.Helper()
	if got < low || got > high {
		r.Errorf("%s: got %v, want %v to %v", what, got, low, high)
	}
}
