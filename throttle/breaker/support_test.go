package breaker_test

import (
	"context"
	"errors"
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
