package breaker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestControlByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := ""
		changed := func(e breaker.Event) { got += fmt.Sprint(e.From, ">", e.To, ":", e.Reason, " ") }
		all := agents(t, 2, breaker.Config{Store: breaker.NewMemoryStore(), Hooks: breaker.Hooks{Changed: changed}})
		one, other := all[0], all[1]
		k := breaker.Key{Tenant: "t", ID: "k"}
		steps := []struct {
			name   string
			do     func() error
			state  breaker.State
			forced bool
			err    error
		}{
			{"nothing", func() error { return nil }, breaker.Closed, false, nil},
			{"enable what is closed", func() error { return one.Enable(t.Context(), k) }, breaker.Closed, false, nil},
			{"force open", func() error { return one.ForceOpen(t.Context(), k) }, breaker.Open, true, breaker.ErrOpen},
			{"force open again", func() error { return other.ForceOpen(t.Context(), k) }, breaker.Open, true, breaker.ErrOpen},
			{"force closed", func() error { return other.ForceClose(t.Context(), k) }, breaker.Closed, true, nil},
			{"disable", func() error { return one.Disable(t.Context(), k) }, breaker.Disabled, false, breaker.ErrDisabled},
			{"enable", func() error { return other.Enable(t.Context(), k) }, breaker.Closed, false, nil},
			{"disable again", func() error { return one.Disable(t.Context(), k) }, breaker.Disabled, false, breaker.ErrDisabled},
			{"forget", func() error { return other.Forget(t.Context(), k) }, breaker.Closed, false, nil},
			{"forget again", func() error { return one.Forget(t.Context(), k) }, breaker.Closed, false, nil},
		}
		for _, step := range steps {
			must(t, step.do())
			time.Sleep(time.Hour)
			for i, m := range all {
				must(t, m.Refresh(t.Context()))
				s := m.Status(k)
				if s.Key != k || s.State != step.state || s.Forced != step.forced {
					t.Errorf("%s: agent %d has %+v, want %v, forced %v", step.name, i, s, step.state, step.forced)
				}
				wants(t, m.CanExecute(t.Context(), k), step.err, "%s: agent %d", step.name, i)
			}
		}
		const want = "closed>open:by_hand open>closed:by_hand closed>disabled:by_hand disabled>closed:by_hand closed>disabled:by_hand "
		if got != want {
			t.Errorf("changes\ngot  %s\nwant %s", got, want)
		}
	})
}

// TestAChangeByHandHoldsAtOnce refreshes while the change is being written, as Run does all the time.
func TestAChangeByHandHoldsAtOnce(t *testing.T) {
	store := newMeddler(breaker.NewMemoryStore())
	m, k := agent(t, breaker.Config{Store: store}), breaker.Key{ID: "a"}
	store.before = only(func(ctx context.Context) error { return m.Refresh(ctx) }, "Apply")
	must(t, m.ForceOpen(t.Context(), k))
	wants(t, m.CanExecute(t.Context(), k), breaker.ErrOpen, "after ForceOpen returned nil")
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

// TestEnableStartsAnew: neither trips nor failures of before count.
func TestEnableStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, tripped := breaker.NewMemoryStore(), breaker.Key{ID: "k"}, breaker.Key{ID: "a"}
		m := agent(t, breaker.Config{Store: store, ConsecutiveFailureThreshold: 1})
		fail := func(n int) {
			fails(t, m, k, n)
			sample(t, m)
		}
		fail(10)
		if s := m.Status(k); s.State != breaker.Disabled || s.Trips != 1 {
			t.Fatalf("got %+v, want disabled", s)
		}
		must(t, m.Enable(t.Context(), k))
		fail(9)
		if s := m.Status(k); s.State != breaker.Closed || s.Trips != 0 {
			t.Errorf("after nine new failures: %+v, want closed", s)
		}
		fail(1)
		wantState(t, m, k, breaker.Disabled, "after ten new failures")
		put(t, store, tripped, stored7("closed", 2, 0, 0, 0))
		if must(t, m.Enable(t.Context(), tripped)); m.Status(tripped).Trips != 0 {
			t.Errorf("a closed circuit that has tripped: got %+v, want no trips", m.Status(tripped))
		}
	})
}

// TestWhatIsForgottenStaysForgotten forgets one circuit and enables another: neither comes back from agents that knew of them, while their records
// are in the store and after.
func TestWhatIsForgottenStaysForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, k, ctx := breaker.NewMemoryStore(), keysOfShard(7, 2), t.Context()
		all := agents(t, 3, breaker.Config{Store: store, Poll: polled(breaker.PollResult{})})
		running(t, all...)
		must(t, all[0].Disable(ctx, k[0]), all[0].Disable(ctx, k[1]))
		time.Sleep(5 * time.Second)
		must(t, all[1].Forget(ctx, k[0]), all[2].Enable(ctx, k[1]))
		time.Sleep(2 * time.Second)
		for range 90 {
			for i, m := range all {
				if m.CanExecute(ctx, k[0]) != nil || m.CanExecute(ctx, k[1]) != nil || m.Status(k[0]) != (breaker.Status{Key: k[0]}) {
					t.Fatalf("agent %d: got %+v of what was forgotten and %+v of what was enabled, want nothing and closed", i, m.Status(k[0]), m.Status(k[1]))
				}
			}
			time.Sleep(time.Second)
		}
		if n := len(stored(t, store, k[0])); n != 0 {
			t.Errorf("got %d records, want none in the end", n)
		}
	})
}

func TestListIsInOrder(t *testing.T) {
	m := agent(t, breaker.Config{})
	for _, k := range []breaker.Key{{Tenant: "b", ID: "1"}, {ID: "z"}, {Tenant: "a", ID: "2"}, {Tenant: "a", ID: "1"}} {
		must(t, m.Disable(t.Context(), k))
	}
	got := ""
	for _, s := range m.List() {
		got += s.Key.String() + " "
	}
	if want := `"z" "a"/"1" "a"/"2" "b"/"1" `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := m.Stats().Circuits; got != [breaker.Disabled + 1]int{0, 0, 0, 4} {
		t.Errorf("circuits %v", got)
	}
}
