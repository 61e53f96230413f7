package storetest

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

// Run tests a store. Each call of open gives a handle on one and the same storage, as another process would have one: with a client of its own
// or a shared one, whichever is the truer test. Run closes every handle, some of them twice; a store whose Close does nothing may give the same
// handle again. Every case has buckets of its own, so the storage need not be empty, and may be used by others meanwhile.
//
// While Run counts goroutines, at its end, no other test of the same process should start or end any.
func Run(t *testing.T, open func(t *testing.T) store.Store, options ...Option) {
	t.Helper()
	suite(options...).Run(t, func(t *testing.T) func() store.Store {
		return func() store.Store { return open(t) }
	})
}

// Option says what is particular to a store.
type Option func(*rig)

// ClockResolution is the step in which the store's clock counts, as its documentation says. Default a microsecond. A clock that rounds
// its time, up or down, is off by less than a step.
func ClockResolution(step time.Duration) Option {
	return func(r *rig) { r.resolution = int64(max(1, step)) }
}

type testCase = kit.Case[*rig]

func suite(options ...Option) kit.Suite[store.Store, *rig] {
	return kit.Suite[store.Store, *rig]{
		Groups: groups(),
		New:    func(t kit.T, open func() func() store.Store) *rig { return newRig(t, open(), options...) },
	}
}

func groups() []kit.Group[*rig] {
	return []kit.Group[*rig]{
		{Name: "take", Cases: takeCases()},
		{Name: "refill", Cases: refillCases()},
		{Name: "retry", Cases: retryCases()},
		{Name: "return", Cases: returnCases()},
		{Name: "reset", Cases: resetCases()},
		{Name: "limit", Cases: limitCases()},
		{Name: "extreme", Cases: extremeCases()},
		{Name: "key", Cases: keyCases()},
		{Name: "race", Cases: raceCases()},
		{Name: "rate", Cases: rateCases()},
		{Name: "history", Cases: historyCases()},
		{Name: "context", Cases: contextCases()},
		{Name: "handle", Cases: handleCases()},
	}
}
