package breaker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestHalfOpenNeedsNoLeader has agents whom nobody leads any more: an open circuit's time is over for them all the same, and
// probes are let through, as many as the fleet may make.
func TestHalfOpenNeedsNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, f := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		first := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{Failures: 20})})
		sample(t, first)
		store.before = only(func(context.Context) error { return errNetwork }, "Campaign", "Apply")
		all := agents(t, 3, breaker.Config{Store: store, Poll: f.poll, HalfOpenProbes: 5})
		running(t, all...)
		time.Sleep(time.Second)
		f.during(t.Context(), 28*time.Second, 20, k, 1, all...)
		if made, _ := f.calls(k); made > 0 {
			t.Errorf("got %d calls through an open circuit, want 0", made)
		}
		time.Sleep(2 * time.Second)
		if !inState(k, breaker.HalfOpen, all...)() {
			t.Errorf("got state %v when the time is over, want half_open", all[0].Status(k).State)
		}
		f.during(t.Context(), time.Minute, 20, k, 1, all...)
		if made, _ := f.calls(k); made < 40 || made > 13*5 {
			t.Errorf("got %d probes in a minute, want about 5 in each 5 s, and at most 65", made)
		}
	})
}

// TestProbesFindSeldomCalls calls a half-open endpoint once in ten seconds: probes are in stock, so that it recovers.
func TestProbesFindSeldomCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1, time.Minute)
		all := agents(t, 3, breaker.Config{Store: breaker.NewMemoryStore(), Poll: f.poll})
		running(t, all...)
		f.during(t.Context(), 6*time.Second, 20, k, 1, all...)
		for i := range 30 {
			time.Sleep(9700 * time.Millisecond)
			_ = f.call(t.Context(), all[i%3], k, 0)
		}
		if !inState(k, breaker.Closed, all...)() {
			made, refused := f.calls(k)
			t.Errorf("got state %v after five minutes, %d calls made and %d refused, want closed", all[0].Status(k).State, made, refused)
		}
	})
}

// TestHintsAreHeeded changes a circuit in a store that tells of it, and one that tells too much.
func TestHintsAreHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
		c := breaker.Config{Store: store, Poll: polled(breaker.PollResult{}), Refresh: 10 * time.Second, SampleRate: time.Minute}
		m := agent(t, c)
		running(t, m)
		time.Sleep(15 * time.Second)
		if err := agent(t, c).Disable(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Second, "the agent knows", inState(k, breaker.Disabled, m))
	})
}

// chatterbox is a store whose Watch tells of changes all the time, or fails at once.
type chatterbox struct {
	*meddler
	fails   bool
	watches atomic.Int64
}

func (c *chatterbox) Watch(ctx context.Context, changed func()) error {
	c.watches.Add(1)
	for !c.fails && ctx.Err() == nil {
		changed()
		time.Sleep(time.Millisecond)
	}
	return errNetwork
}

// TestHintsAreNotOvervalued counts what an agent asks of such stores in a minute.
func TestHintsAreNotOvervalued(t *testing.T) {
	for name, fails := range map[string]bool{"tells all the time": false, "fails": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &chatterbox{meddler: newMeddler(breaker.NewMemoryStore()), fails: fails}
				stop := running(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})}))
				time.Sleep(time.Minute)
				stop()
				time.Sleep(time.Second)
				if n, w := store.calls.Load(), store.watches.Load(); n > 20*60+200 || w > 70 {
					t.Errorf("got %d calls and %d watches in a minute, want at most 20 refreshes a second and one watch", n, w)
				}
			})
		})
	}
}
