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

// shop bears so many orders a second, of which it lets ten come at once, and throttles what is more.
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

// Eight workers share a delay. The service bears a hundred calls a second, which nobody has told them. It runs in a bubble, in which no time passes.
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
					_, _ = backoff.Do(ctx, r, nil, func(ctx context.Context) (string, error) { // its error says whether to try again
						return "", service.order(ctx)
					})
				}
			})
		}
		workers.Wait()
		fmt.Println("nearly all that it bears:", service.served > 5800)
		fmt.Println("hardly any throttled:", service.throttled < 60)
		fmt.Println("a gap of about 10 ms:", r.Delay() > 8*time.Millisecond && r.Delay() < 14*time.Millisecond)
	})
	// Output:
	// nearly all that it bears: true
	// hardly any throttled: true
	// a gap of about 10 ms: true
}

// What is wrong is named, with its range.
func ExampleNew() {
	_, err := backoff.New(backoff.Config{UpMultiplier: 0.5, MaxInterval: 48 * time.Hour})
	fmt.Println(err)
	// Output:
	// backoff: Config.Name is missing: want 1 to 255 bytes
	// backoff: Config.MaxInterval is 48h0m0s: want at least InitialInterval (100µs), at most 24h
	// backoff: Config.UpMultiplier is 0.5: want more than 1, at most 100
}

// Each call waits for its turn, and tells by its error what became of it. What a service says about when to come again holds for all.
func ExampleDo() {
	synctest.Test(new(testing.T), func(*testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders", RandomizationFactor: -1}))
		for _, answer := range []error{nil, faults.ResourceExhausted(), errors.New("no such order"), faults.Unavailable(5 * time.Second), nil} {
			begun := time.Now()
			_, err := backoff.Do(context.Background(), r, nil, func(context.Context) (string, error) {
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

// The same without a value: each call waits for its turn.
func ExampleResponsive_Do() {
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders"}))
	err := r.Do(context.Background(), func(context.Context) error {
		return faults.ResourceExhausted() // of your call to the service
	})
	fmt.Println(backoff.Classify(err), r.Delay())
	// Output:
	// throttled 100µs
}

// One line when no delay helps any more, and one when that is over.
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

// The two parts of Do, for calls that cannot be put into a function.
func ExampleResponsive_Wait() {
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders", RandomizationFactor: -1}))
	permit, err := r.Wait(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	permit.Done(backoff.Throttled) // or Success, ThrottledFor what the service says, or Ignored
	fmt.Println(r.Delay())
	// Output:
	// 100µs
}

// One event throttles four calls at once, and makes one step.
func ExamplePermit_Done() {
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
		permit.Done(backoff.Throttled)
	}
	s := r.Stats()
	fmt.Println(s.Throttled, "throttled,", s.Ups, "step up")
	// Output:
	// 4 throttled, 1 step up
}

// The two calls of those who come from a sleeper of their own. In the mode Sleep each worker sleeps the delay by itself.
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
		fmt.Printf("%+v\n", r.GetMetrics())
	})
	// Output:
	// false 1s
	// false 2s
	// false 4s
	// true 4s
	// true 2s
	// {TotalInvocation:5 TotalWentUp:3 TotalWentDown:1 TotalSlept:5 TotalSleepTime:13s}
}

// The delay adds up instead of multiplying, if Up says so.
func ExampleLinear() {
	step := backoff.Linear(time.Second, 3*time.Second)
	d := time.Duration(0)
	for range 4 {
		d = step.Next(d)
		fmt.Print(d, " ")
	}
	// Output:
	// 1s 2s 3s 3s
}
