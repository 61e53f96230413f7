package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// The code of docs/coming-from.md and dashboards/runbooks.md, and the tests that run it.

// charged is what becomes of gobreaker's Execute: with the defaults, but for SampleRate.
func charged(ctx context.Context, charge func(context.Context, int) (string, error)) (string, error) {
	m := breaker.Must(breaker.New(breaker.Config{Name: "charges", SampleRate: time.Second}))

	stripe := m.Circuit(breaker.Key{ID: "stripe"}) // one manager, a circuit for each endpoint
	receipt, err := breaker.Do(ctx, stripe, func(ctx context.Context) (string, error) { return charge(ctx, 100) })
	if refused, ok := errors.AsType[*breaker.ShedError](err); ok {
		return "", errors.Join(err, tryAgainIn(refused.RetryAfter()))
	}
	return receipt, err
}

func tryAgainIn(d time.Duration) error { return errors.New("try again in " + d.String()) }

// enabled is what the runbook of ThrottleBreakerDisabled does after an outage that no endpoint caused.
func enabled(ctx context.Context, m *breaker.Manager, outage time.Time) error {
	for _, s := range m.List() {
		if s.State == breaker.Disabled && s.ChangedAt.After(outage) {
			err := m.Enable(ctx, s.Key) // one write to the store for each
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func TestACallThroughACircuit(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	declined := errors.New("declined")
	for want, answer := range map[string]error{"receipt 1": nil, "": declined} {
		got, err := charged(ctx, func(context.Context, int) (string, error) { return want, answer })
		if got != want || !errors.Is(err, answer) {
			t.Errorf("got %q, error %v want %q, error %v", got, err, want, answer)
		}
	}
}

func TestTheRunbooksEnable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks"}))
		defer m.Close()
		before, after := breaker.Key{ID: "before"}, breaker.Key{ID: "after"}
		for _, k := range []breaker.Key{before, after} {
			time.Sleep(time.Minute)
			must(t, m.Disable(t.Context(), k))
		}
		must(t, enabled(t.Context(), m, m.Status(before).ChangedAt))
		if b, a := m.Status(before).State, m.Status(after).State; b != breaker.Disabled || a == breaker.Disabled {
			t.Errorf("got %v and %v want the first disabled still, and the second not", b, a)
		}
	})
}

// A breaker for one process. It needs no Run: calls drive its rounds.
func ExampleCircuit_Do() {
	ctx := context.Background()
	charge := func(context.Context, int) error { return errors.New("connection refused") }

	m := breaker.Must(breaker.New(breaker.Config{Name: "charges", SampleRate: time.Second}))
	err := m.Circuit(breaker.Key{ID: "stripe"}).Do(ctx, func(ctx context.Context) error {
		return charge(ctx, 100) // your call; errors.Is(err, throttle.ErrShed) if it was not made
	})

	_ = m.Close()
	fmt.Println(err)
	// Output:
	// connection refused
}
