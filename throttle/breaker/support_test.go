package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

var errBoom = errors.New("boom")

func failing(context.Context) error { return errBoom }

func succeeding(context.Context) error { return nil }

// sample makes one round.
func sample(t testing.TB, m *breaker.Manager) {
	t.Helper()
	if err := m.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// size returns how large a test is: full, raced under the race detector, whose runtime fails on hundreds of thousands of goroutines,
// or short with -short.
func size[T any](full, raced, short T) T {
	switch {
	case testing.Short():
		return short
	case raceEnabled:
		return raced
	}
	return full
}

// failingAll is a poll that finds 20 failures of each of n circuits.
func failingAll(n int) breaker.PollFunc {
	return func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		all := map[breaker.Key]breaker.PollResult{}
		for i := range n {
			all[breaker.Key{ID: fmt.Sprint(i)}] = breaker.PollResult{Failures: 20}
		}
		return all, nil
	}
}
