package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// A backend fails for a moment, and then for good. In an outage the budget ends the retries.
func Example() {
	down, requests := 0, 0
	find := func(context.Context) (string, error) { // your call to the backend
		requests++
		if down > 0 {
			down--
			return "", throttle.MarkRejected(errors.New("no capacity"))
		}
		return "a book", nil
	}

	th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 1 }})) // sheds nothing here
	r, err := retry.New(retry.Config{
		Throttle: th,
		Hooks: retry.Hooks{
			Retried: func(_ context.Context, e retry.SentEvent) { fmt.Println("attempt", e.Attempt, "because of:", e.Err) },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()

	down = 1
	order, err := retry.Do(ctx, r, throttle.Medium, find)
	fmt.Println(order, err)

	for range 100 { // the backend works, which adds ten retries to the budget
		_, _ = retry.Do(ctx, r, throttle.Medium, find)
	}
	r2 := throttle.Must(retry.New(retry.Config{Name: "quiet", Throttle: th}))
	for range 1000 {
		_, _ = retry.Do(ctx, r2, throttle.Medium, func(context.Context) (string, error) {
			return "", throttle.MarkRejected(errors.New("no capacity"))
		})
	}
	fmt.Println("outage: 1000 calls,", r2.Stats().Sent, "retries")
	// Output:
	// attempt 2 because of: no capacity
	// a book <nil>
	// outage: 1000 calls, 3 retries
}

// A call that takes longer than nearly all others is made a second time beside the first.
func ExampleHedge() {
	find := func(ctx context.Context) (string, error) {
		if retry.FromContext(ctx).Number == 1 { // this replica hangs
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "a book", nil
	}
	r := throttle.Must(retry.New(retry.Config{Name: "orders"})) // with Throttle: th, each attempt passes your throttle
	ctx := context.Background()
	order, err := retry.Hedge(ctx, r, throttle.Medium, 50*time.Millisecond, find)
	fmt.Println(order, err, r.Stats().Hedged)
	// Output:
	// a book <nil> 1
}

// A call that must not be made twice has the throttle and the counters of the others, and no retry.
func ExampleWithoutRetries() {
	r := throttle.Must(retry.New(retry.Config{Name: "payments"}))
	payments := 0
	err := r.Do(retry.WithoutRetries(context.Background()), throttle.High, func(context.Context) error {
		payments++
		return throttle.MarkRejected(errors.New("no capacity"))
	})
	fmt.Println(payments, err)
	// Output:
	// 1 no capacity
}

// In an incident, retries are stopped or made fewer. A value out of range changes nothing.
func ExampleRetrier_Tune() {
	r := throttle.Must(retry.New(retry.Config{Name: "orders"}))
	fmt.Println(r.Tune(retry.Patch{Attempts: new(11)}))
	err := r.Tune(retry.Patch{Mode: new(throttle.ModeOff), Attempts: new(2), Share: new(0.05)})
	now, _ := r.Tuning()
	fmt.Println(now.Mode, now.Attempts, now.Share, err)
	// Output:
	// retry: Patch.Attempts is 11: want 1 to 10
	// off 2 0.05 <nil>
}
