package backoff_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

func wait(t *testing.T, r *backoff.Responsive) backoff.Permit {
	t.Helper()
	p, err := r.Wait(t.Context())
	must(t, err)
	return p
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equals checks a value.
func equals[T comparable](t *testing.T, got, want T, what string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// eachMode runs a test in each mode, in a bubble of synctest.
func eachMode(t *testing.T, test func(t *testing.T, mode backoff.Mode)) {
	for _, mode := range []backoff.Mode{backoff.Pace, backoff.Sleep} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, mode) })
		})
	}
}

func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

// slow returns a Responsive with a delay, one of whose turns was just taken.
func slow(t *testing.T, c backoff.Config, delay time.Duration) *backoff.Responsive {
	t.Helper()
	c.Name, c.InitialInterval, c.MaxInterval, c.RandomizationFactor = "x", delay, delay, -1
	r := backoff.Must(backoff.New(c))
	wait(t, r).Finish(backoff.Throttled)
	return r
}

func caught(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panicked with %v want %v", got, want)
		}
	}()
	f()
}

func atOnce[T any](all []T, f func(T)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for _, one := range all {
		wg.Go(func() {
			<-begin
			f(one)
		})
	}
	close(begin)
	wg.Wait()
}

func sleepFor(ctx context.Context, d time.Duration) {
	if d <= 0 { // for two timers that are due at once in a bubble Go 1.26's race detector may crash
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
