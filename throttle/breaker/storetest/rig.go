package storetest

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

const (
	// long is the life of what must not end during a case.
	long = time.Hour
	// slack is what a duration of an hour may be off, for clocks that somebody sets meanwhile.
	slack = 10 * time.Second
	// grain is what a short duration may be off, for clocks that count milliseconds.
	grain = 5 * time.Millisecond
)

// rig is what a case works with: storage that was empty, and handles on it.
type rig struct {
	kit.Fixture[store.Store]
	openStorage func() func() store.Store
}

func newRig(t kit.T, open func() func() store.Store) *rig {
	return &rig{kit.NewFixture(t, open()), open}
}

// emptied returns a handle on other, empty storage: what is left of a storage that has lost everything.
func (r *rig) emptied() store.Store {
	other := kit.NewFixture(r.T, r.openStorage())
	return other.Store
}

// until waits for done to return true, and fails the case if it does not for long.
func (r *rig) until(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(kit.Patience); !done(); r.Pause(grain) {
		if time.Now().After(end) {
			r.Fatalf("waited %v, but %s", kit.Patience, what)
		}
	}
}

// untilStoreTime waits for the store's clock.
func (r *rig) untilStoreTime(at time.Time) {
	r.Helper()
	r.until(fmt.Sprintf("the store's clock (Versions().Now) has not reached %v", at), func() bool {
		return r.versions(r.Store).Now.After(at)
	})
}

// expectBetween wants a duration within bounds.
func (r *rig) expectBetween(what string, got, low, high time.Duration) {
	r.Helper()
	if got < low || got > high {
		r.Errorf("%s: got %v, want %v to %v", what, got, low, high)
	}
}
