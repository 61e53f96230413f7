package storetest

import (
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker/store"
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
	watches := isWatcher(t, open)
	for _, g := range groups() {
		if g.name == watchGroup && !watches {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					c.run(newRig(t, func() func() store.Store { return open(t) }))
				})
			}
		})
	}
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

// group is a list of cases about one noun.
type group struct {
	name  string
	cases []testCase
}

// testCase tests one rule, whose name it bears.
type testCase struct {
	name string
	run  func(*rig)
}

func groups() []group {
	return []group{
		{"lease", leaseCases()},
		{"election", electionCases()},
		{"version", versionCases()},
		{"clock", clockCases()},
		{"load", loadCases()},
		{"data", dataCases()},
		{"batch", batchCases()},
		{"fence", fenceCases()},
		{"snapshot", snapshotCases()},
		{"race", raceCases()},
		{"probe", probeCases()},
		{"budget", budgetCases()},
		{"context", contextCases()},
		{watchGroup, watchCases()},
		{"handle", handleCases()},
	}
}
