package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestALongOutageThatEndsEmpty: what is disabled stays so, and what is lost is told.
func TestALongOutageThatEndsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		store := newMeddler(breaker.NewMemoryStore())
		store.before = func(context.Context, string) error {
			if down.Load() {
				return errNetwork
			}
			return nil
		}
		m := agent(t, breaker.Config{Store: store, OnStale: breaker.KeepLast, Poll: polled(breaker.PollResult{})})
		k := breaker.Key{ID: "a"}
		if err := m.Disable(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		running(t, m)
		time.Sleep(5 * time.Second)
		down.Store(true)
		time.Sleep(10 * time.Minute)
		store.flush()
		down.Store(false)
		time.Sleep(10 * time.Second)
		if err := m.CanExecute(t.Context(), k); !errors.Is(err, breaker.ErrDisabled) {
			t.Errorf("got %v, want ErrDisabled", err)
		}
		if got := m.Stats().Failures[breaker.RecordsLost]; got != 1 {
			t.Errorf("told of %d losses, want 1", got)
		}
	})
}

// TestADryRunLeavesNothingBehind: who enforces after it refuses nobody for what it found.
func TestADryRunLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := breaker.Config{Store: breaker.NewMemoryStore(), DryRun: true, ConsecutiveFailureThreshold: 1, Poll: polled(breaker.PollResult{Failures: 20})}
		k := breaker.Key{ID: "a"}
		dry := agent(t, c)
		sample(t, dry)
		if s := dry.Status(k).State; s != breaker.Disabled {
			t.Fatalf("got %v in the dry run, want disabled", s)
		}
		if err := dry.Disable(t.Context(), breaker.Key{ID: "by hand"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		c.DryRun, c.Poll = false, polled(breaker.PollResult{Successes: 20})
		m := agent(t, c)
		for range 2 {
			if err := m.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := m.CanExecute(t.Context(), k); err != nil {
				t.Errorf("got %v, want none", err)
			}
			if err := m.CanExecute(t.Context(), breaker.Key{ID: "by hand"}); !errors.Is(err, breaker.ErrDisabled) {
				t.Errorf("disabled by hand: got %v, want ErrDisabled", err)
			}
			sample(t, m)
		}
		if s := m.Status(k); s.State != breaker.Closed || s.Trips != 0 {
			t.Errorf("got %+v, want closed and no trips", s)
		}
	})
}

func TestASharedStoreWantsAPoll(t *testing.T) {
	c := breaker.Config{Name: "x", Store: newMeddler(breaker.NewMemoryStore())}
	if m, err := breaker.New(c); err == nil || m != nil || !strings.Contains(err.Error(), "Config.Poll is nil: a shared Store wants a poll") {
		t.Errorf("got %v, %v", m, err)
	}
	c.Counter = breaker.NewCounter(time.Minute)
	if _, err := breaker.New(c); err != nil {
		t.Errorf("with a Counter: %v", err)
	}
}

// TestOneReporterDecidesNothing, neither about a closed circuit nor about a half-open one.
func TestOneReporterDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := breaker.PollResult{Failures: 30, Reporters: 3}
		m := agent(t, breaker.Config{
			MinReporters: 3, ConsecutiveFailureThreshold: 2,
			Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
				return map[breaker.Key]breaker.PollResult{{ID: "a"}: n}, nil
			},
		})
		sample(t, m)
		n.Reporters = 1
		for range 100 {
			time.Sleep(10 * time.Second)
			sample(t, m)
		}
		if s := m.Status(breaker.Key{ID: "a"}).State; s != breaker.HalfOpen {
			t.Errorf("one reporter: got %v, want half_open", s)
		}
		n.Reporters = 3
		sample(t, m)
		if s := m.Status(breaker.Key{ID: "a"}).State; s != breaker.Disabled {
			t.Errorf("three reporters: got %v, want disabled", s)
		}
	})
}

// setBack is a store whose clock is set back.
type setBack struct {
	breaker.Store

	by time.Duration
}

func (s *setBack) Versions(ctx context.Context) (breaker.Versions, error) {
	v, err := s.Store.Versions(ctx)
	v.Now = v.Now.Add(-s.by)
	return v, err
}

// TestTheStoresClockIsSetBack by an hour: nobody is refused, and nothing overlooked, until it is there again.
func TestTheStoresClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &setBack{Store: breaker.NewMemoryStore()}
		n := breaker.PollResult{Failures: 20}
		m := agent(t, breaker.Config{Store: store, Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			return map[breaker.Key]breaker.PollResult{{ID: "a"}: n}, nil
		}})
		sample(t, m)
		store.by = time.Hour
		n = breaker.PollResult{Successes: 20}
		for range 8 {
			time.Sleep(5 * time.Second)
			sample(t, m)
		}
		if s := m.Status(breaker.Key{ID: "a"}); s.State != breaker.Closed {
			t.Errorf("got %+v, want closed again", s)
		}
	})
}

// TestCounterHasRoom for keys that differ in the tenant or in the middle only.
func TestCounterHasRoom(t *testing.T) {
	c := breaker.NewCounter(time.Minute)
	for i := range size(50_000, 50_000, 10_000) {
		c.Failure(breaker.Key{Tenant: fmt.Sprint(i), ID: "default"})
		c.Failure(breaker.Key{ID: fmt.Sprintf("https://%06d.example/webhook", i)})
	}
	if n := c.Dropped(); n > 0 {
		t.Errorf("%d results were dropped", n)
	}
}

func TestANilFunctionIsAnErrorAndLongTimesAreFine(t *testing.T) {
	m := agent(t, breaker.Config{})
	if err := m.Circuit(breaker.Key{}).Run(t.Context(), nil); err == nil {
		t.Error("a nil function made no error")
	}
	for _, c := range []breaker.Config{{BreakerTimeout: 96 * time.Hour}, {SampleRate: 264 * time.Hour}, {BreakerTimeout: 30 * 24 * time.Hour}} {
		c.Name = "x"
		if _, err := breaker.New(c); err != nil {
			t.Errorf("its own defaults are refused: %v", err)
		}
	}
}
