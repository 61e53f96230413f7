package breaker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestControlByHand(t *testing.T) {
	const want = "closed>open:by_hand open>closed:by_hand closed>disabled:by_hand disabled>closed:by_hand closed>disabled:by_hand "
	got, k := "", breaker.Key{Tenant: "t", ID: "k"}
	changed := func(e breaker.Event) { got += fmt.Sprint(e.From, ">", e.To, ":", e.Reason, " ") }
	open, closed, forget := byHand((*breaker.Manager).ForceOpen, k), byHand((*breaker.Manager).ForceClose, k), byHand((*breaker.Manager).Forget, k)
	// then wants all to have the change an hour later.
	then := func(state breaker.State, held bool, err error) step {
		return times(1, wait(time.Hour), refreshed, is(state, 0, k), forced(held, k), sheds(err, k))
	}
	play(t, scenario{
		name: "two managers", agents: 2, config: breaker.Config{Hooks: breaker.Hooks{Changed: changed}},
		steps: steps(then(breaker.Closed, false, nil),
			by(0, enable(k)), then(breaker.Closed, false, nil),
			by(0, open), then(breaker.Open, true, breaker.ErrOpen),
			by(1, open), then(breaker.Open, true, breaker.ErrOpen),
			by(1, closed), then(breaker.Closed, true, nil),
			by(0, disable(k)), then(breaker.Disabled, false, breaker.ErrDisabled),
			by(1, enable(k)), then(breaker.Closed, false, nil),
			by(0, disable(k)), then(breaker.Disabled, false, breaker.ErrDisabled),
			by(1, forget), then(breaker.Closed, false, nil),
			by(0, forget), then(breaker.Closed, false, nil)),
	})
	equals(t, got, want, "changes")
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
	k, tripped := breaker.Key{ID: "k"}, breaker.Key{ID: "a"}
	play(t, scenario{
		name: "a disabled circuit", config: breaker.Config{ConsecutiveFailureThreshold: 1},
		steps: steps(fail(10, k), sampled, is(breaker.Disabled, 1, k), enable(k), fail(9, k), sampled, is(breaker.Closed, 0, k),
			fail(1, k), sampled, is(breaker.Disabled, 1, k)),
	}, scenario{
		name: "a closed circuit that has tripped",
		steps: steps(func(s *scene) { put(s.T, s.store, tripped, stored7("closed", 2, 0, 0, 0)) }, refreshed, is(breaker.Closed, 2, tripped),
			enable(tripped), is(breaker.Closed, 0, tripped)),
	})
}

// TestWhatIsForgottenStaysForgotten forgets one circuit and enables another: neither comes back from agents that knew of
// them, while their records are in the store and after.
func TestWhatIsForgottenStaysForgotten(t *testing.T) {
	k := keysOfShard(7, 2)
	play(t, scenario{
		name: "three managers", agents: 3, memory: true, poll: results{},
		steps: steps(runs, by(0, disable(k...)), wait(5*time.Second), by(1, byHand((*breaker.Manager).Forget, k[0])), by(2, enable(k[1])),
			wait(2*time.Second), times(90, sheds(nil, k...), is(breaker.Closed, 0, k...), wait(time.Second)), func(s *scene) {
				for _, m := range s.all {
					if all := m.List(); len(all) > 0 {
						s.Errorf("got %v, want no circuits in the end", all)
					}
				}
			}),
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
	equals(t, got, `"z" "a"/"1" "a"/"2" "b"/"1" `, "the list")
	equals(t, m.Stats().Circuits, [breaker.Disabled + 1]int{0, 0, 0, 4}, "circuits")
}

// TestDisable_afterShadow disables by hand what trips in ModeShadow have disabled: ModeEnforce does not forget that.
func TestDisable_afterShadow(t *testing.T) {
	k := breaker.Key{ID: "k"}
	tune := func(to throttle.Mode) step {
		return func(s *scene) { must(s, s.actor().Tune(breaker.Patch{Mode: &to})) }
	}
	tripped := steps(fail(10, k), sampled, is(breaker.Disabled, 1, k))
	config := breaker.Config{Mode: throttle.ModeShadow, ConsecutiveFailureThreshold: 1}
	play(t, scenario{
		name: "in ModeShadow", config: config,
		steps: slices.Concat(tripped, steps(disable(k), tune(throttle.ModeEnforce), sampled, is(breaker.Disabled, 1, k), sheds(breaker.ErrDisabled, k))),
	}, scenario{
		name: "in ModeEnforce", config: config,
		steps: slices.Concat(tripped, steps(tune(throttle.ModeEnforce), is(breaker.Closed, 0, k), disable(k), sampled, is(breaker.Disabled, 1, k))),
	}, scenario{
		name: "enabled", config: config,
		steps: slices.Concat(tripped, steps(disable(k), enable(k), tune(throttle.ModeEnforce), sampled, is(breaker.Closed, 0, k))),
	})
}
