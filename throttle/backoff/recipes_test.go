package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
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

// putAll is a worker of a job: it tries again with what was throttled.
func putAll(ctx context.Context, r *backoff.Responsive, items <-chan string, put func(context.Context, string) error) error {
	for item := range items {
		for {
			err := r.Do(ctx, func(ctx context.Context) error {
				return put(ctx, item) // Do waits for its turn, and adapts the delay to the error
			})
			if backoff.Classify(err) == backoff.Success {
				break // written, or refused for a reason of its own
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// behindThrottle combines a throttle and a backoff. A call that the throttle sheds is Ignored, because it did not reach the service.
// A call that the service rejects counts for both.
func behindThrottle(ctx context.Context, th *throttle.Throttle, r *backoff.Responsive, p throttle.Priority, call func(context.Context) error) error {
	return r.Do(ctx, func(ctx context.Context) error { return th.Do(ctx, p, call) })
}

// besideBucket keeps a known limit with a bucket, and finds the unknown one. It waits for the bucket first: a turn that waits for a token
// is outdated when the call begins.
func besideBucket(ctx context.Context, l *bucket.Limiter, r *backoff.Responsive, call func(context.Context) error) error {
	if err := l.Wait(ctx, "", 1); err != nil {
		return err
	}
	return r.Do(ctx, call)
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

func TestJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders-table"}))
		items := make(chan string, 4)
		for _, item := range []string{"a", "b", "c"} {
			items <- item
		}
		close(items)
		var calls []string
		err := putAll(ctx, r, items, func(_ context.Context, item string) error {
			calls = append(calls, item)
			switch len(calls) {
			case 2:
				return faults.ResourceExhausted()
			case 4:
				return errors.New("too long")
			}
			return nil
		})
		if got, want := fmt.Sprint(calls), "[a b b c]"; err != nil || got != want {
			t.Errorf("calls: got %s, error %v want %s", got, err, want)
		}
		cancel()
		items = make(chan string, 1)
		items <- "d"
		if err := putAll(ctx, r, items, func(context.Context, string) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: got error %v want context.Canceled", err)
		}
	})
}

func TestBehindAThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders"}))
		th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Rand: func() float64 { return 0 }}))
		defer th.Close()
		called, shed := 0, 0
		for range 20 {
			err := behindThrottle(t.Context(), th, r, throttle.Low, func(context.Context) error {
				called++
				return faults.Unavailable(0)
			})
			if errors.Is(err, throttle.ErrShed) {
				shed++
			}
		}
		s := r.Stats()
		if shed == 0 || called == 0 || s.Ignored != uint64(shed) || s.Throttled != uint64(called) || s.Ups != uint64(called) {
			t.Errorf("got %d shed, %d called and %+v want the shed ignored and the called throttled", shed, called, s)
		}
	})
}

func TestBesideABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders", RandomizationFactor: -1}))
		l := bucket.Must(bucket.New(bucket.Config{Name: "account", Limit: bucket.Every(time.Second)}))
		begun := time.Now()
		for i, answer := range []error{nil, faults.Unavailable(5 * time.Second), nil} {
			err := besideBucket(t.Context(), l, r, func(context.Context) error { return answer })
			if want := []time.Duration{0, time.Second, 6 * time.Second}[i]; !errors.Is(err, answer) || time.Since(begun) != want {
				t.Errorf("call %d: got error %v after %v want %v", i, err, time.Since(begun), want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for range 2 {
			_ = besideBucket(ctx, l, r, func(context.Context) error { return nil })
		}
		if err := besideBucket(ctx, l, r, nil); backoff.Classify(err) != backoff.Ignored {
			t.Errorf("denied: got %v want Ignored", err)
		}
		if s := r.Stats(); s.Throttled != 1 || s.Ups != 1 {
			t.Errorf("got %+v want one throttled", s)
		}
	})
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
