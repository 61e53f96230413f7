package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestAPollFromBeforeAChangeCountsForNothing enables a circuit while the leader's poll is under way, whose answer is about the time
// before.
func TestAPollFromBeforeAChangeCountsForNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*breaker.Manager, context.Context, breaker.Key) error
	}{
		{"enabled", (*breaker.Manager).Enable},
		{"forced closed and enabled", func(m *breaker.Manager, ctx context.Context, k breaker.Key) error {
			return errors.Join(m.ForceClose(ctx, k), m.Enable(ctx, k))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { pollAcross(t, tt.change) }) })
	}
}

func pollAcross(t *testing.T, change func(*breaker.Manager, context.Context, breaker.Key) error) {
	store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
	during := func() {}
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		during()
		return map[breaker.Key]breaker.PollResult{k: {Failures: 100}}, nil
	}
	c := breaker.Config{Store: store, Poll: poll, ConsecutiveFailureThreshold: 1}
	leader, other := agent(t, c), agent(t, c)
	sample(t, leader)
	if s := leader.Status(k).State; s != breaker.Disabled {
		t.Fatalf("got state %v after 100 failures, want disabled", s)
	}
	during = func() {
		time.Sleep(time.Second)
		if err := errors.Join(change(other, t.Context(), k), leader.Refresh(t.Context())); err != nil {
			t.Error(err)
		}
	}
	sample(t, leader)
	if s := leader.Status(k).State; s != breaker.Closed {
		t.Errorf("got state %v, because of calls from before the change, want closed", s)
	}
}

// TestAChangeByHandHoldsAtOnce refreshes while the change is being written, as Run does all the time.
func TestAChangeByHandHoldsAtOnce(t *testing.T) {
	store := newMeddler(breaker.NewMemoryStore())
	m, k := agent(t, breaker.Config{Store: store}), breaker.Key{ID: "a"}
	store.before = only(func(ctx context.Context) error { return m.Refresh(ctx) }, "Apply")
	if err := m.ForceOpen(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if err := m.CanExecute(t.Context(), k); !errors.Is(err, breaker.ErrOpen) {
		t.Errorf("got %v after ForceOpen returned nil, want ErrOpen", err)
	}
}

// TestManyChangesByHandAtOnce changes two hundred circuits at once, in a store that is far away but well.
func TestManyChangesByHandAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMeddler(breaker.NewMemoryStore())
		store.before = func(context.Context, string) error { time.Sleep(20 * time.Millisecond); return nil }
		m := agent(t, breaker.Config{Store: store})
		var all sync.WaitGroup
		errs := make([]error, 200)
		for i := range errs {
			all.Go(func() { errs[i] = m.Disable(t.Context(), breaker.Key{ID: fmt.Sprint(i)}) })
		}
		all.Wait()
		if good := len(m.List()); good < len(errs) {
			first := errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
			t.Errorf("got %d of %d circuits disabled, and error %v, want all: nothing is wrong with the store", good, len(errs), first)
		}
	})
}

// TestRoundsByHand lets a circuit trip and recover with Sample alone, without Run.
func TestRoundsByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, k := t.Context(), breaker.Key{ID: "a"}
		m := agent(t, breaker.Config{BreakerTimeout: 10 * time.Second})
		for range 10 {
			_ = m.Circuit(k).Run(ctx, failing)
		}
		sample(t, m)
		if s := m.Status(k).State; s != breaker.Open {
			t.Fatalf("got state %v after ten failures, want open", s)
		}
		for range 20 {
			time.Sleep(5 * time.Second)
			for range 20 {
				_ = m.Circuit(k).Run(ctx, succeeding)
				synctest.Wait()
			}
			sample(t, m)
		}
		if s := m.Status(k); s.State != breaker.Closed {
			t.Errorf("got state %v, with %v probes, after 20 rounds by hand with an endpoint that is well, want closed", s.State, m.Stats().Probes)
		}
	})
}

// TestAFailedPollHidesNoRefresh makes a round by hand whose poll fails: what it read before holds in any case.
func TestAFailedPollHidesNoRefresh(t *testing.T) {
	store, k := breaker.NewMemoryStore(), breaker.Key{ID: "a"}
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		return nil, errBoom
	}
	m := agent(t, breaker.Config{Store: store, Poll: poll})
	if err := agent(t, breaker.Config{Store: store}).Disable(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if err := m.Sample(t.Context()); !errors.Is(err, errBoom) {
		t.Fatalf("got %v, want the poll's error", err)
	}
	if err := m.CanExecute(t.Context(), k); !errors.Is(err, breaker.ErrDisabled) {
		t.Errorf("got %v, want ErrDisabled, which the round has read", err)
	}
}

// TestProbesCountBeforeTheLeaderSaysHalfOpen ends some probes before the leader's round, and some after: all of them count.
func TestProbesCountBeforeTheLeaderSaysHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, k := t.Context(), breaker.Key{ID: "a"}
		var told atomic.Pointer[breaker.Event]
		m := agent(t, breaker.Config{
			SampleRate: 10 * time.Second, BreakerTimeout: 15 * time.Second, HalfOpenProbes: 5,
			Hooks: breaker.Hooks{Changed: func(e breaker.Event) { told.Store(&e) }},
		})
		running(t, m)
		time.Sleep(time.Second)
		for range 10 {
			_ = m.Circuit(k).Run(ctx, failing)
		}
		time.Sleep(9*time.Second + time.Millisecond) // to 10 s: the round that opens it, until 25 s
		if last := told.Load(); last == nil || last.To != breaker.Open {
			t.Fatalf("got change %v, want one to open", last)
		}
		probe := func(n int) {
			for n > 0 {
				if m.Circuit(k).Run(ctx, failing) != nil && m.Stats().Probes > 0 {
					n--
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(16 * time.Second) // to 26 s: half-open, of which the leader learns at 30 s
		results := func() uint64 { return m.Stats().Calls[breaker.HalfOpen].Admitted }
		for results() < 3 {
			probe(1)
		}
		time.Sleep(4 * time.Second) // over 30 s
		for results() < 5 {
			probe(1)
		}
		time.Sleep(12 * time.Second) // over 40 s
		if last := told.Load(); last.To != breaker.Open || last.Failures != 5 || last.Trips != 2 {
			t.Errorf("got a change to %v with %v failures at trip %d, want open with 5 failures at trip 2", last.To, last.Failures, last.Trips)
		}
	})
}
