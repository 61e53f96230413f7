package breaker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// ears are a notifier, and the hook for every change.
type ears struct {
	mu        sync.Mutex
	changed   map[string]breaker.Event
	asked     map[string]int // times the notifier was called
	confirmed map[string]int // times it returned nil
	order     []breaker.Event
	answer    func(ctx context.Context, e breaker.Event) error
}

func newEars() *ears {
	return &ears{changed: map[string]breaker.Event{}, asked: map[string]int{}, confirmed: map[string]int{}}
}

func (n *ears) change(e breaker.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed[e.ID()] = e
}

func (n *ears) notify(ctx context.Context, e breaker.Event) error {
	n.mu.Lock()
	n.asked[e.ID()]++
	answer := n.answer
	n.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, e); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.confirmed[e.ID()]++
	n.order = append(n.order, e)
	return nil
}

func (n *ears) says(answer func(context.Context, breaker.Event) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = answer
}

// check wants every change except those to half-open notified, in order per circuit, and no other event.
func (n *ears) check(t *testing.T, atMost int) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.changed) == 0 {
		t.Error("got no changes, want some")
	}
	for id, e := range n.changed {
		switch times := n.confirmed[id]; {
		case e.To == breaker.HalfOpen && times != 0:
			t.Errorf("%v from %v to %v: got it notified, want it not", e.Key, e.From, e.To)
		case e.To != breaker.HalfOpen && (times < 1 || times > atMost):
			t.Errorf("%v from %v to %v: got it notified %d times, want 1 to %d", e.Key, e.From, e.To, times, atMost)
		}
	}
	for id := range n.asked {
		if _, ok := n.changed[id]; !ok {
			t.Errorf("got event %s notified, which is no change", id)
		}
	}
	last := map[breaker.Key]uint64{}
	for _, e := range n.order {
		if atMost == 1 && e.Generation < last[e.Key] {
			t.Errorf("%v: got generation %d notified after %d", e.Key, e.Generation, last[e.Key])
		}
		last[e.Key] = e.Generation
	}
}

// TestANotifierThatFails fails, panics and hangs for some minutes, while the leader changes every
// minute: every event is notified in the end.
func TestANotifierThatFails(t *testing.T) {
	for name, answer := range map[string]func(context.Context, breaker.Event) error{
		"errors": func(context.Context, breaker.Event) error { return errBoom },
		"panics": func(context.Context, breaker.Event) error { panic("no such customer") },
		"hangs":  func(ctx context.Context, _ breaker.Event) error { <-ctx.Done(); return ctx.Err() },
		"is deaf": func(context.Context, breaker.Event) error {
			time.Sleep(3 * time.Minute)
			return errors.New("gateway timeout")
		},
		"ends its goroutine": func(context.Context, breaker.Event) error { panic(nil) },
	} {
		bubble(t, name, func(t *testing.T) { deafForTenMinutes(t, answer) })
	}
}

// TestNotify_pauses makes every call of a notifier fail: the pauses double up to 30 s.
func TestNotify_pauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		last := time.Now()
		stop := running(t, agent(t, breaker.Config{Poll: polled(breaker.PollResult{Failures: 20}), Notify: func(context.Context, breaker.Event) error {
			pauses, last = append(pauses, time.Since(last)/time.Second), time.Now()
			return errBoom
		}}))
		time.Sleep(2 * time.Minute)
		stop()
		if want := []time.Duration{0, 1, 2, 4, 8, 16, 30, 30}; !slices.Equal(pauses, want) {
			t.Errorf("got calls after pauses of %d s want %d", pauses, want)
		}
	})
}

func deafForTenMinutes(t *testing.T, answer func(context.Context, breaker.Event) error) {
	f, n := newTraffic(1), newEars()
	n.answer = answer
	c := breaker.Config{
		Store: breaker.NewMemoryStore(), Poll: f.poll, Notify: n.notify, Hooks: breaker.Hooks{Changed: n.change}, ConsecutiveFailureThreshold: 5,
	}
	keys := []breaker.Key{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for minute := range size(10, 10, 4) {
		m := agent(t, c) // a new process, which knows nothing
		stop := running(t, m)
		f.during(t.Context(), 59*time.Second, 20, keys[minute%3], 1, m)
		stop()
		time.Sleep(time.Second)
	}
	equals(t, len(n.confirmed), 0, "confirmed events of a notifier that always fails")
	n.says(nil)
	m := agent(t, c)
	stop := running(t, m)
	time.Sleep(5 * time.Minute)
	stop()
	n.check(t, 1)
	time.Sleep(3 * time.Minute)
}

// TestADeafNotifierIsNotCrowded has a hundred circuits whose notifier never returns: there are not ever more of it.
func TestADeafNotifierIsNotCrowded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside atomic.Int64
		deaf := make(chan struct{})
		notify := func(context.Context, breaker.Event) error { inside.Add(1); <-deaf; return nil }
		running(t, agent(t, breaker.Config{Notify: notify, Poll: failingAll(100)}))
		time.Sleep(10 * time.Minute)
		equals(t, inside.Load(), 64, "notifications that hang after ten minutes")
		close(deaf)
	})
}

// TestARecordStaysUntilItIsNotified fails to notify for longer than the window of a circuit that has closed again.
func TestARecordStaysUntilItIsNotified(t *testing.T) {
	n, k := newEars(), breaker.Key{ID: "a"}
	n.answer = func(context.Context, breaker.Event) error { return errBoom }
	play(t, scenario{
		name: "150 s", memory: true, poll: results{}, config: breaker.Config{Notify: n.notify},
		steps: steps(byHand((*breaker.Manager).ForceOpen, k), enable(k), times(30, wait(5*time.Second), sampled), func(s *scene) {
			n.says(nil)
			sampled(s)
			if len(n.order) != 2 || n.order[0].To != breaker.Open || n.order[1].To != breaker.Closed {
				s.Errorf("got %v notified, want open and closed", n.order)
			}
		}),
	})
}

// TestWithoutRun_everyEventIsNotified: one that comes while another one is notified, and one that is made by hand. No call
// is made after them.
func TestWithoutRun_everyEventIsNotified(t *testing.T) {
	a, b := breaker.Key{ID: "a"}, breaker.Key{ID: "b"}
	for name, mode := range map[string]throttle.Mode{"enforce": throttle.ModeEnforce, "off": throttle.ModeOff} {
		bubble(t, name, func(t *testing.T) {
			n := newEars()
			n.answer = func(_ context.Context, e breaker.Event) error {
				if e.Key == a {
					time.Sleep(7 * time.Second)
				}
				return nil
			}
			m := agent(t, breaker.Config{Mode: mode, Notify: n.notify, Hooks: breaker.Hooks{Changed: n.change}})
			defer m.Close()
			fails(t, m, a, 10)
			time.Sleep(5*time.Second + 1)
			fails(t, m, b, 10)
			time.Sleep(time.Minute)
			must(t, m.Disable(t.Context(), b))
			time.Sleep(time.Minute)
			equals(t, m.Status(b).State == breaker.Disabled, mode == throttle.ModeEnforce, "b is disabled")
			n.check(t, 1)
		})
	}
}
