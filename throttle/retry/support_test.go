package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

var errBusy = errors.New("busy")

func rejected() error { return throttle.MarkRejected(errBusy) }

// newRetrier returns a Retrier around a throttle that sheds nothing, with a delay of exactly half of
// Delay.Initial.
func newRetrier(t *testing.T, c retry.Config) *retry.Retrier {
	t.Helper()
	if c.Throttle == nil {
		c.Throttle = throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }}))
	}
	if c.Rand == nil {
		c.Rand = func() float64 { return 0.5 }
	}
	return throttle.Must(retry.New(c))
}

// answers returns a function that gives the answers in order, then nil, and counts its calls.
func answers(calls *int, errs ...error) func(context.Context) error {
	return func(context.Context) error {
		*calls++
		if *calls <= len(errs) {
			return errs[*calls-1]
		}
		return nil
	}
}

func accept(t *testing.T, r *retry.Retrier, n int) {
	t.Helper()
	for range n {
		if err := r.Do(t.Context(), throttle.Medium, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

func denials(r *retry.Retrier) map[retry.Reason]uint64 {
	counts := map[retry.Reason]uint64{}
	for reason, n := range r.Stats().Denied.All() {
		if n > 0 {
			counts[reason] = n
		}
	}
	return counts
}

func generous() retry.Budget { return retry.Budget{Share: 1, Reserve: 1e6, Window: time.Second} }
