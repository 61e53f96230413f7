package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// writeOne is the README's call.
func writeOne(ctx context.Context, item string, put func(context.Context, string) error) error {
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders-table"})) // one for the service, shared by all workers

	err := r.Do(ctx, func(ctx context.Context) error {
		return put(ctx, item) // Do waits for its turn, and adapts the delay to the error
	})
	if backoff.Classify(err) != backoff.Success {
		return err // throttled, or not made: try again; Do waits longer then
	}
	return nil // written, or refused for a reason of its own
}

// policy is the interface that libraries use to request delays, such as BackOff of cenkalti/backoff.
type policy interface {
	NextBackOff() time.Duration
	Reset()
}

// retry stands for such a library.
func retry(ctx context.Context, p policy, call func(context.Context) error) error {
	p.Reset()
	for {
		err := call(ctx)
		if err == nil {
			return nil
		}
		sleepFor(ctx, p.NextBackOff())
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// byLibrary lets such a library retry. The library does not report a success, so byLibrary does.
func byLibrary(ctx context.Context, r *backoff.Responsive, call func(context.Context) error) error {
	b := r.BackOff() // one for each operation; the delay behind is shared
	err := retry(ctx, b, call)
	if err == nil {
		b.Succeeded()
	}
	return err
}

func TestTheReadmesCall(t *testing.T) {
	for answer, want := range map[error]bool{
		nil: false, faults.NotFound: false, faults.ResourceExhausted(): true, faults.Unavailable(time.Second): true, context.Canceled: true,
	} {
		got := ""
		err := writeOne(t.Context(), "apples", func(_ context.Context, item string) error { got = item; return answer })
		if (err != nil) != want || got != "apples" {
			t.Errorf("%v: got error %v, and a call about %q want an error: %v", answer, err, got, want)
		}
	}
}

// A library that retries requests each delay. The example runs in a synctest bubble, so it takes no real time.
func ExampleResponsive_BackOff() {
	synctest.Test(new(testing.T), func(*testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "orders", Mode: backoff.Sleep, InitialInterval: time.Second, UpMultiplier: 2, RandomizationFactor: -1,
		}))
		begun, calls := time.Now(), 0
		err := byLibrary(context.Background(), r, func(context.Context) error {
			calls++
			fmt.Println("after", time.Since(begun))
			if calls < 4 {
				return faults.ResourceExhausted()
			}
			return nil
		})
		fmt.Println(err, "with a delay of", r.Delay())
	})
	// Output:
	// after 0s
	// after 1s
	// after 3s
	// after 7s
	// <nil> with a delay of 4s
}
