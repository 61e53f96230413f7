package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// Five calls of which the limit allows two per hour.
func Example() {
	ctx := context.Background()
	l, err := bucket.New(bucket.Config{Name: "reports", Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		d, err := l.Decide(ctx, "ann")
		fmt.Println(d.Allowed, d.Remaining, err, d.RetryAfter.Round(time.Minute))
	}
	// Output:
	// true 1 <nil> 0s
	// true 0 <nil> 0s
	// false 0 <nil> 1h0m0s
	// false 0 <nil> 1h0m0s
	// false 0 <nil> 1h0m0s
}

// Take returns a denial as an error.
func ExampleLimiter_Take() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "reports", Limit: bucket.Per(2, time.Hour)}))
	report := func(ctx context.Context, customer string) error {
		if err := l.Take(ctx, customer, 1); err != nil {
			return err
		}
		return nil // of making the report
	}
	for range 3 {
		err := report(context.Background(), "ann")
		fmt.Println(errors.Is(err, bucket.ErrDenied), errors.Is(err, throttle.ErrShed))
	}
	// Output:
	// false false
	// false false
	// true true
}

// Reset fills the bucket of a customer that has bought more.
func ExampleLimiter_Reset() {
	ctx := context.Background()
	l := bucket.Must(bucket.New(bucket.Config{Name: "reports", Limit: bucket.Every(time.Hour)}))
	fmt.Println(l.Take(ctx, "ann", 1))
	if err := l.Reset(ctx, "ann"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(l.Take(ctx, "ann", 1))
	// Output:
	// <nil>
	// <nil>
}

// 600 per minute, but at most 20 at once.
func ExampleLimit_WithBurst() {
	limit := bucket.Per(600, time.Minute).WithBurst(20)
	fmt.Println(limit.Capacity, "at once, then one in", limit.Interval())
	// Output:
	// 20 at once, then one in 100ms
}

// A function that takes a token for each call.
func ExampleGuard() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "mail", Limit: bucket.Every(time.Hour)}))
	send := bucket.Guard(l.Requester("ann"), func(context.Context) (string, error) { return "sent", nil })
	for range 2 {
		answer, err := send(context.Background())
		fmt.Printf("%q %v\n", answer, errors.Is(err, bucket.ErrDenied))
	}
	// Output:
	// "sent" false
	// "" true
}

// Two calls per second, and five callers at the start of each second.
func Example_twoCallsASecond() {
	synctest.Test(new(testing.T), func(*testing.T) { // so that its seconds take no time
		l := bucket.Must(bucket.New(bucket.Config{
			Name: "action", Limit: bucket.Limit{Capacity: 2, Period: time.Second, Algorithm: bucket.Fixed},
		}))
		limited := bucket.Guard(l.Requester(""), func(context.Context) (string, error) { return "done", nil })
		start := time.Now()
		for range 3 {
			var callers sync.WaitGroup
			var done, denied atomic.Int64
			for range 5 {
				callers.Go(func() {
					switch _, err := limited(context.Background()); {
					case err == nil:
						done.Add(1)
					case errors.Is(err, bucket.ErrDenied):
						denied.Add(1)
					}
				})
			}
			callers.Wait()
			fmt.Printf("%v: %d done, %d denied\n", time.Since(start), done.Load(), denied.Load())
			time.Sleep(time.Second)
		}
	})
	// Output:
	// 0s: 2 done, 3 denied
	// 1s: 2 done, 3 denied
	// 2s: 2 done, 3 denied
}

// A request costs one token per kilobyte. More than a full bucket can never be granted: that is 413, not 429.
func ExampleMiddlewareConfig() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "uploads", Limit: bucket.Per(100, time.Hour)}))
	uploads := bucket.Middleware(l, bucket.MiddlewareConfig{
		Cost: func(r *http.Request) int64 { return max(1, r.ContentLength>>10) },
	})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, kilobytes := range []int64{60, 60, 200} {
		r, w := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
		r.ContentLength = kilobytes << 10
		uploads.ServeHTTP(w, r)
		fmt.Println(kilobytes, "kB:", w.Code)
	}
	// Output:
	// 60 kB: 200
	// 60 kB: 429
	// 200 kB: 413
}

// Two errors of Take do not depend on the level of the bucket: a retry has the same result.
func ExampleLimiter_Take_invalid() {
	l := bucket.Must(bucket.New(bucket.Config{Name: "mails", Limit: bucket.PerSecond(10)}))
	ctx := context.Background()
	fmt.Println(errors.Is(l.Take(ctx, "ann", 11), bucket.ErrExceedsCapacity))
	fmt.Println(errors.Is(l.Take(ctx, "ann", -1), bucket.ErrNegative))
	// Output:
	// true
	// true
}
