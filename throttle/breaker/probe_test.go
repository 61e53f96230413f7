package breaker_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// granting returns a store that answers each request for probes with the same grant.
func granting(grant store.ProbeGrant) *meddler {
	m := newMeddler(breaker.NewMemoryStore())
	m.answer = func(pointer any) {
		if grants, ok := pointer.(*[]store.ProbeGrant); ok && len(*grants) > 0 {
			*grants = slices.Repeat([]store.ProbeGrant{grant}, len(*grants))
		}
	}
	return m
}

// TestGrantsThatMakeNoSense calls a half-open endpoint 100 times a second for ten seconds, which are two sample rates: not more than was asked
// for is taken, and the store is not asked at each call.
func TestGrantsThatMakeNoSense(t *testing.T) {
	for name, tt := range map[string]struct {
		grant             store.ProbeGrant
		made, least, most int64 // calls let through, and the store asked
	}{
		"fewer than none":      {store.ProbeGrant{Granted: -1, Remaining: time.Second}, 0, 9, 11},
		"more than asked for":  {store.ProbeGrant{Granted: 1000, Remaining: time.Hour}, 600, 400, 1001},
		"over already":         {store.ProbeGrant{Granted: 1, Remaining: -time.Hour}, 0, 50, 65},
		"none, for no time":    {store.ProbeGrant{}, 0, 50, 65},
		"none, for ever after": {store.ProbeGrant{Remaining: 1 << 62}, 0, 2, 3},
	} {
		bubble(t, name, func(t *testing.T) {
			store, k := granting(tt.grant), breaker.Key{ID: "a"}
			sample(t, agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{Failures: 20})}))
			var asks atomic.Int64
			store.before = func(_ context.Context, op string) error {
				if op == "Probe" {
					asks.Add(1)
				}
				return nil
			}
			m := agent(t, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
			running(t, m)
			time.Sleep(31 * time.Second)
			asks.Store(0)
			made := int64(0)
			for range 1000 {
				if m.CanExecute(t.Context(), k) == nil {
					made++
				}
				time.Sleep(10 * time.Millisecond)
			}
			if n := asks.Load(); made > tt.made || n < tt.least || n > tt.most {
				t.Errorf("got %d calls let through and the store asked %d times, want at most %d, and %d to %d", made, n, tt.made, tt.least, tt.most)
			}
			if n := m.Stats().Probes; n > 2000 {
				t.Errorf("got %d probes counted, want no more than were asked for", n)
			}
		})
	}
}

// TestHalfOpenNeedsNoLeader has managers without a leader: the timeout of an open circuit ends for them too, and
// probes are let through, as many as the fleet may make.
func TestHalfOpenNeedsNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, f := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}, newTraffic(1)
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
		eventually(t, 0, "it is half-open", inState(k, breaker.HalfOpen, all...))
		f.during(t.Context(), time.Minute, 20, k, 1, all...)
		if made, _ := f.calls(k); made < 40 || made > 13*5 {
			t.Errorf("got %d probes in a minute, want about 5 in each 5 s, and at most 65", made)
		}
	})
}

// TestProbesFindSeldomCalls calls a half-open endpoint once in ten seconds: probes are in stock, so that it recovers.
func TestProbesFindSeldomCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, f := breaker.Key{ID: "a"}, newTraffic(1)
		all := agents(t, 3, breaker.Config{Store: breaker.NewMemoryStore(), Poll: f.poll})
		running(t, all...)
		f.during(t.Context(), 6*time.Second, 20, k, 1, all...)
		for i := range 30 {
			time.Sleep(9700 * time.Millisecond)
			_ = f.call(t.Context(), all[i%3], k, 0)
		}
		eventually(t, 0, "it is closed", inState(k, breaker.Closed, all...))
	})
}

// TestProbesAreInStockAgain leaves a half-open endpoint without calls until no probe is kept for it any more. After a
// call that is shed, there is one again.
func TestProbesAreInStockAgain(t *testing.T) {
	k := breaker.Key{ID: "a"}
	twice := func(pause time.Duration) step { // the second call is into a period, not at its beginning
		return times(1, wait(pause), sheds(breaker.ErrTooManyRequests, k), wait(12*time.Second), sheds(nil, k))
	}
	play(t, scenario{name: "memory store", memory: true, steps: steps(runs, fail(10, k), twice(40*time.Second), twice(5*time.Minute))})
}

// TestAProbeIsNotTakenAfterItsTime calls a half-open endpoint long after the store granted a probe: it asks again.
func TestAProbeIsNotTakenAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := granting(store.ProbeGrant{Granted: 1, Remaining: time.Second}), breaker.Key{ID: "a"}
		sample(t, agent(t, breaker.Config{Store: s, Poll: polled(breaker.PollResult{Failures: 20})}))
		m := agent(t, breaker.Config{Store: s, Poll: polled(breaker.PollResult{})})
		must(t, m.Refresh(t.Context()))
		time.Sleep(31 * time.Second) // half-open
		for _, tt := range []struct {
			after time.Duration
			want  error
		}{{0, breaker.ErrTooManyRequests}, {time.Second, breaker.ErrTooManyRequests}, {time.Second / 2, nil}} {
			time.Sleep(tt.after)
			wants(t, m.CanExecute(t.Context(), k), tt.want, "%v after the last call", tt.after)
			synctest.Wait()
		}
	})
}

// TestProbes_secondLife: a circuit whose record was removed opens again in the same generation, and gets its probes at once.
func TestProbes_secondLife(t *testing.T) {
	bubble(t, "memory", func(t *testing.T) {
		s := breaker.NewMemoryStore()
		for range 3 {
			time.Sleep(time.Hour)
			request := store.ProbeRequest{ID: breaker.Key{ID: "a"}.RecordID(), Generation: 1, Since: time.Now(), Every: time.Minute, Budget: 1, Want: 1}
			for _, want := range []int{1, 0} {
				grants, err := s.Probe(t.Context(), []store.ProbeRequest{request})
				if err != nil || grants[0].Granted != want {
					t.Errorf("got %+v and error %v want %d granted", grants, err, want)
				}
			}
		}
	})
}
