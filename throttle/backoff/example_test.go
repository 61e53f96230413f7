package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// shop serves a number of orders per second, up to ten at once, and throttles the others.
type shop struct {
	perSecond         float64
	mu                sync.Mutex
	room              float64
	at                time.Time
	served, throttled int
}

func (s *shop) order(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.room = min(10, s.room+now.Sub(s.at).Seconds()*s.perSecond)
	s.at = now
	if s.room < 1 {
		s.throttled++
		return faults.ResourceExhausted()
	}
	s.room--
	s.served++
	return nil
}

// Eight workers share a delay, and find the limit of the service: 100 calls per second. The example runs in a synctest bubble, so it takes no real time.
func Example() {
	synctest.Test(new(testing.T), func(*testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders", RandomizationFactor: -1}))
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		service := &shop{perSecond: 100}
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for ctx.Err() == nil {
					_, _ = backoff.Do(ctx, r, func(ctx context.Context) (string, error) { // its error decides whether to retry
						return "", service.order(ctx)
					})
				}
			})
		}
		workers.Wait()
		fmt.Println("nearly all capacity used:", service.served > 5800)
		fmt.Println("few calls throttled:", service.throttled < 60)
		fmt.Println("a gap of about 10 ms:", r.Delay() > 8*time.Millisecond && r.Delay() < 14*time.Millisecond)
	})
	// Output:
	// nearly all capacity used: true
	// few calls throttled: true
	// a gap of about 10 ms: true
}

// New returns an error that names each invalid field, its value and its range.
func ExampleNew() {
	_, err := backoff.New(backoff.Config{UpMultiplier: 0.5, MaxInterval: 48 * time.Hour})
	fmt.Println(err)
	// Output:
	// backoff: Config.Name is missing: want 1 to 255 bytes
	// backoff: Config.MaxInterval is 48h0m0s: want at least InitialInterval (100µs), at most 24h
	// backoff: Config.UpMultiplier is 0.5: want more than 1, at most 100
}

// Each call waits for its turn. Its error decides about the delay. A Retry-After delays all workers.
func ExampleDo() {
	synctest.Test(new(testing.T), func(*testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders", RandomizationFactor: -1}))
		for _, answer := range []error{nil, faults.ResourceExhausted(), errors.New("no such order"), faults.Unavailable(5 * time.Second), nil} {
			begun := time.Now()
			_, err := backoff.Do(context.Background(), r, func(context.Context) (string, error) {
				return "", answer // of your call to the service
			})
			fmt.Printf("%v: the delay is %v; waited %v\n", backoff.Classify(err), r.Delay(), time.Since(begun).Round(time.Second))
		}
	})
	// Output:
	// success: the delay is 0s; waited 0s
	// throttled: the delay is 100µs; waited 0s
	// success: the delay is 100µs; waited 0s
	// throttled: the delay is 125µs; waited 0s
	// success: the delay is 125µs; waited 5s
}

// The method is for a function without a value.
func ExampleResponsive_Do() {
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders"}))
	err := r.Do(context.Background(), func(context.Context) error {
		return faults.ResourceExhausted() // of your call to the service
	})
	fmt.Println(backoff.Classify(err), r.Delay())
	// Output:
	// throttled 100µs
}

// LogHooks logs one line when the delay is at its maximum, and one when it is below again.
func ExampleLogHooks() {
	synctest.Test(new(testing.T), func(*testing.T) {
		logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders", MaxInterval: time.Second, RandomizationFactor: -1, Hooks: backoff.LogHooks(logger)}))
		for call := range 200 {
			_ = r.Do(context.Background(), func(context.Context) error {
				if call < 150 { // an outage
					return faults.ResourceExhausted()
				}
				return nil
			})
		}
	})
	// Output:
	// level=WARN msg="backoff: service throttles nearly all calls, delay is at its maximum" backoff=orders mode=pace delay=1s successes=0 throttled=43 suppressed=0
	// level=INFO msg="backoff: delay is below its maximum again" backoff=orders mode=pace delay=250ms successes=1 throttled=107 duration=1m48s
}

// Wait and Done are the two parts of Do, for calls that do not fit into a function.
func ExampleResponsive_Wait() {
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders", RandomizationFactor: -1}))
	permit, err := r.Wait(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	permit.Done(faults.ResourceExhausted()) // the error of the call; Finish(backoff.Throttled) states its outcome
	fmt.Println(r.Delay())
	// Output:
	// 100µs
}

// One overload throttles four calls in flight. They make one step.
func ExamplePermit_Finish() {
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders"}))
	var permits []backoff.Permit
	for range 4 {
		permit, err := r.Wait(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		permits = append(permits, permit)
	}
	for _, permit := range permits {
		permit.Finish(backoff.Throttled)
	}
	s := r.Stats()
	fmt.Println(s.Throttled, "throttled,", s.Ups, "step up")
	// Output:
	// 4 throttled, 1 step up
}

// SleepOnFailure and SleepOnSuccess replace a sleeper. In mode Sleep each worker sleeps the delay.
func ExampleResponsive_SleepOnFailure() {
	synctest.Test(new(testing.T), func(*testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{
			Name: "orders", Mode: backoff.Sleep, InitialInterval: time.Second, UpMultiplier: 2, DownMultiplier: 0.5, DownMultiplierThreshold: 2,
			RandomizationFactor: -1,
		}))
		for _, served := range []bool{false, false, false, true, true} {
			begun := time.Now()
			sleep := r.SleepOnFailure
			if served {
				sleep = r.SleepOnSuccess
			}
			if err := sleep(context.Background()); err != nil {
				fmt.Println(err)
			}
			fmt.Println(served, time.Since(begun))
		}
		s := r.Stats()
		fmt.Println(s.Ups, "steps up,", s.Downs, "down, slept for", s.SleepTime)
	})
	// Output:
	// false 1s
	// false 2s
	// false 4s
	// true 4s
	// true 2s
	// 3 steps up, 1 down, slept for 13s
}

// With UpInterval, the delay grows by addition.
func ExampleConfig_linear() {
	r := backoff.Must(backoff.New(backoff.Config{
		Name: "orders", InitialInterval: time.Second, UpInterval: time.Second, MaxInterval: 3 * time.Second,
		MaxRandomization: 100 * time.Millisecond, // of a wait; the delay itself stays exact
	}))
	b := r.BackOff()
	for range 4 {
		b.NextBackOff()
		fmt.Print(r.Delay(), " ")
	}
	// Output: 1s 2s 3s 3s
}
