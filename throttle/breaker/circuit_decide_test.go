package breaker_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestAFrozenStoreDelaysNoCall freezes the store for twenty seconds under 1,000 calls a second, and measures every call.
func TestAFrozenStoreDelaysNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ice frozen
		store := newMeddler(breaker.NewMemoryStore())
		keys := circuitsByHand(t, store)
		store.before = ice.meddle
		m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), BreakerTimeout: 10 * time.Minute})
		stop := running(t, m)
		time.Sleep(2 * time.Second)
		ice.on.Store(true)
		var took []time.Duration
		for range 20_000 {
			for _, k := range keys {
				begun := time.Now()
				_ = m.CanExecute(t.Context(), k)
				took = append(took, time.Since(begun))
			}
			time.Sleep(time.Millisecond)
		}
		slices.Sort(took)
		if p99, most := took[len(took)*99/100], took[len(took)-1]; most != 0 {
			t.Errorf("got calls that waited, 99 in 100 within %v, all within %v, want none that waits", p99, most)
		}
		ice.thaw()
		back := eventually(t, 10*time.Second, "the store is read again", func() bool { return m.Stats().SnapshotAge < time.Second })
		t.Logf("it was read again %v after it thawed", back)
		stop()
	})
}
