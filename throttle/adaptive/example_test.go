package adaptive_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/adaptive"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// A client throttles its calls to a backend, which goes down and comes back. The clock and the draws are fixed so that
// the output is the same every time. A program does not set Now and Rand.
func Example() {
	clock := throttletest.NewClock(time.Unix(0, 0))
	backend := throttle.Must(throttletest.NewBackend(throttletest.BackendConfig{Now: clock.Now}))
	throttler := throttle.Must(adaptive.New(adaptive.Config{Bins: 60, Now: clock.Now, Rand: throttletest.Sequence(0.1, 0.9, 0.3, 0.7, 0.5)}))

	errBusy := errors.New("busy, not even tried")
	call := func() error {
		if throttler.ShouldThrottle() {
			return errBusy
		}
		err := backend.Call(context.Background())
		if err != nil {
			throttler.Throttled()
		} else {
			throttler.Accepted()
		}
		return err
	}
	minute := func(what string) {
		before := throttler.Stats().Total
		for range 60 {
			clock.Advance(time.Second)
			_ = call()
		}
		now := throttler.Stats().Total
		fmt.Printf("%s: %d accepted, %d rejected, %d shed, P %.2f\n", what, now.Accepted-before.Accepted,
			now.Rejected-before.Rejected, now.Shed-before.Shed, throttler.Stats().Probability)
	}

	minute("up")
	backend.SetOutage(true)
	minute("down")
	backend.SetOutage(false)
	minute("up again")

	// Output:
	// up: 60 accepted, 0 rejected, 0 shed, P 0.00
	// down: 0 accepted, 30 rejected, 30 shed, P 0.79
	// up again: 44 accepted, 0 rejected, 16 shed, P 0.00
}

func ExampleThrottler_RejectionProbability() {
	throttler := throttle.Must(adaptive.New(adaptive.Config{}))
	for range 20 {
		throttler.Accepted()
	}
	fmt.Printf("%.2f\n", throttler.RejectionProbability())
	for range 72 {
		throttler.Throttled()
	}
	fmt.Printf("%.2f\n", throttler.RejectionProbability()) // (92 - 2*20) / (92 + 8)

	// Output:
	// 0.00
	// 0.52
}

func ExampleNew_invalid() {
	_, err := adaptive.New(adaptive.Config{Duration: 100 * time.Millisecond, RatioForAccepts: 0.5})
	fmt.Println(err)

	// Output:
	// adaptive: Config.Duration is 100ms: want 1s to 1h
	// adaptive: Config.RatioForAccepts is 0.5: want 1 to 1e6
}

// Code that has one result of each call, as the throttler of gRPC's balancer wants it.
func ExampleThrottler_RegisterBackendResponse() {
	throttler := throttle.Must(adaptive.New(adaptive.Config{}))
	for _, busy := range []bool{false, true, true} {
		if !throttler.ShouldThrottle() {
			throttler.RegisterBackendResponse(busy)
		}
	}
	fmt.Println(throttler.Stats().Total)

	// Output: {1 2 0}
}
