package otelthrottle_test

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// everything returns the options with which everything is reported, of a process that is busy.
func everything() []otelthrottle.Option {
	return append(detailed(), otelthrottle.WithProcess(busy()), otelthrottle.WithObjective(0.9995, time.Second))
}

// detailed returns the options with which all of throttles and breakers is reported.
func detailed() []otelthrottle.Option {
	return []otelthrottle.Option{otelthrottle.WithBreakerDetail(8)}
}

// busy is the state of a process whose requests wait for a processor.
func busy() throttle.ProcessorStats {
	s := throttle.ProcessorStats{
		Wait: 50 * time.Millisecond, Aim: 20 * time.Millisecond, Runnable: 12, Processors: 4, Share: 0.25,
	}
	s.Probabilities[throttle.Medium], s.Probabilities[throttle.Low] = 0.125, 1
	return s
}

// breaker returns a manager that the adapter watches. Nothing runs by itself: the test makes its rounds.
func (l *lab) breaker(t testing.TB, c breaker.Config) *breaker.Manager {
	t.Helper()
	if c.Name == "" {
		c.Name = "webhooks"
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = time.Minute // a busy machine may need longer than the default
	}
	c.Hooks.Created, c.Hooks.Closed = l.tel.BreakerHooks().Created, l.tel.BreakerHooks().Closed
	if c.Hooks.Shed == nil {
		c.Hooks.Shed = l.tel.BreakerHooks().Shed
	}
	m, err := breaker.New(c)
	if err != nil {
		t.Fatalf("breaker.New: got error %v want nil", err)
	}
	return m
}

func disable(t testing.TB, m *breaker.Manager, k breaker.Key) {
	t.Helper()
	if err := m.Disable(context.Background(), k); err != nil {
		t.Fatalf("Disable: got error %v want nil", err)
	}
}

// admit makes a call that must be let through.
func admit(t testing.TB, m *breaker.Manager, k breaker.Key) {
	t.Helper()
	if err := m.CanExecute(context.Background(), k); err != nil {
		t.Fatalf("CanExecute(%v): got error %v want nil", k, err)
	}
}
