package control_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

type recorder struct {
	mu     sync.Mutex
	tuned  []control.Change
	failed []error
}

func (r *recorder) hooks() control.Hooks {
	return control.Hooks{
		Tuned: func(_ context.Context, e control.TunedEvent) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.tuned = append(r.tuned, e.Change)
		},
		Failed: func(_ context.Context, e control.FailedEvent) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failed = append(r.failed, e.Err)
		},
	}
}

// take returns what was recorded since the last take, as text.
func (r *recorder) take() (tuned []string, failed []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.tuned {
		tuned = append(tuned, c.String())
	}
	failed = r.failed
	r.tuned, r.failed = nil, nil
	return tuned, failed
}

func newControl(t testing.TB, hooks control.Hooks) *control.Control {
	t.Helper()
	c := throttle.Must(control.New(control.Config{Hooks: hooks}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

type things struct {
	throttle *throttle.Throttle
	breaker  *breaker.Manager
	bucket   *bucket.Limiter
	backoff  *backoff.Responsive
	retries  *retry.Retrier
}

func newThings(t testing.TB, c *control.Control) things {
	t.Helper()
	x := things{
		throttle: newThrottle(t, c, "stock"),
		breaker:  breaker.Must(breaker.New(breaker.Config{Name: "payments", Hooks: c.BreakerHooks()})),
		bucket:   bucket.Must(bucket.New(bucket.Config{Name: "api", Limit: bucket.PerSecond(10), Hooks: c.BucketHooks()})),
		backoff:  backoff.Must(backoff.New(backoff.Config{Name: "table", Hooks: c.BackoffHooks()})),
		retries:  throttle.Must(retry.New(retry.Config{Name: "orders", Hooks: c.RetryHooks()})),
	}
	t.Cleanup(func() { _, _, _, _ = x.breaker.Close(), x.bucket.Close(), x.backoff.Close(), x.retries.Close() })
	return x
}

func newThrottle(t testing.TB, c *control.Control, name string) *throttle.Throttle {
	t.Helper()
	th := throttle.Must(throttle.New(throttle.Config{Name: name, Hooks: c.ThrottleHooks()}))
	t.Cleanup(func() { _ = th.Close() })
	return th
}

// state returns the settings in force in a few words.
func (x things) state() (mode, breaking throttle.Mode, capacity int64, longest time.Duration) {
	b, _ := x.breaker.Tuning()
	l, _ := x.bucket.Tuning()
	r, _ := x.backoff.Tuning()
	return x.throttle.Stats().Mode, b.Mode, l.Capacity, r.MaxInterval
}

func parse(t testing.TB, text string) control.Document {
	t.Helper()
	d, err := control.ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func apply(t testing.TB, c *control.Control, text string) control.Report {
	t.Helper()
	report, err := c.Apply(t.Context(), parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return report
}
