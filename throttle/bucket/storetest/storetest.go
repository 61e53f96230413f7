package storetest

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// Run tests a store. Each call of open gives a handle on one and the same storage, as another process would have one: with a client of its own
// or a shared one, whichever is the truer test. Run closes every handle, some of them twice; a store whose Close does nothing may give the same
// handle again. Every case has buckets of its own, so the storage need not be empty, and may be used by others meanwhile.
//
// While Run counts goroutines, at its end, no other test of the same process should start or end any.
func Run(t *testing.T, open func(t *testing.T) store.Store, options ...Option) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					c.run(newRig(t, func() store.Store { return open(t) }, options...))
				})
			}
		})
	}
}

// Option says what is particular to a store.
type Option func(*rig)

// ClockResolution is the step in which the store's clock counts, as its documentation says. Default a microsecond. A clock that rounds
// its time, up or down, is off by less than a step.
func ClockResolution(step time.Duration) Option {
	return func(r *rig) { r.resolution = int64(max(1, step)) }
}

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
		{"take", takeCases()},
		{"refill", refillCases()},
		{"retry", retryCases()},
		{"return", returnCases()},
		{"reset", resetCases()},
		{"limit", limitCases()},
		{"extreme", extremeCases()},
		{"key", keyCases()},
		{"race", raceCases()},
		{"rate", rateCases()},
		{"history", historyCases()},
		{"context", contextCases()},
		{"handle", handleCases()},
	}
}
