package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cenkalti "github.com/cenkalti/backoff/v5"
	"github.com/deixis/faults"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// The peers' side of docs/coming-from.md: what a program has before it comes to us. Our side is in the guide_test.go of each package.

// chargedByGobreaker opens by the same rules as our breaker does by default.
func chargedByGobreaker(ctx context.Context, charge func(context.Context, int) (string, error)) (string, error) {
	stripe := gobreaker.NewCircuitBreaker[string](gobreaker.Settings{
		Name:     "stripe",
		Interval: time.Minute, BucketPeriod: 5 * time.Second,
		Timeout: 30 * time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= 10 && 100*c.TotalFailures >= 70*c.Requests
		},
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
	})
	receipt, err := stripe.Execute(func() (string, error) { return charge(ctx, 100) })
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return "", errors.Join(err, errors.New("try again later"))
	}
	return receipt, err
}

// perCustomer is what a program writes around x/time/rate, which has no keys. It must also delete the
// limiters of customers that have left.
type perCustomer struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter
}

// retryAfter returns the header for a customer who has to wait, or nothing.
func (p *perCustomer) retryAfter(customer string) string {
	p.mu.Lock()
	l := p.limiters[customer]
	if l == nil {
		l = rate.NewLimiter(10, 20) // rate 10, burst 20
		p.limiters[customer] = l
	}
	p.mu.Unlock()
	reservation := l.Reserve()
	if wait := reservation.Delay(); wait > 0 {
		reservation.Cancel() // or the next one waits for it too
		return strconv.Itoa(int(wait/time.Second) + 1)
	}
	return ""
}

var errNoRoom = errors.New("no room")

// askedByFailsafe goes through failsafe-go's adaptive throttler.
func askedByFailsafe(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	throttler := adaptivethrottler.NewBuilder[string]().
		HandleIf(func(_ string, err error) bool { return errors.Is(err, errNoRoom) }).
		WithFailureRateThreshold(0.1, 20, time.Minute).
		Build()
	answer, err := failsafe.With(throttler).Get(func() (string, error) { return ask(ctx) })
	if errors.Is(err, adaptivethrottler.ErrExceeded) {
		return "", err // it was not sent
	}
	return answer, err
}

// written retries alone: each caller finds out separately how long to wait.
func written(ctx context.Context, put func() (string, error)) (string, error) {
	return cenkalti.Retry(ctx, put,
		cenkalti.WithBackOff(cenkalti.NewExponentialBackOff()),
		cenkalti.WithMaxTries(5))
}

// writtenTogether retries with the same library, with a delay that all callers share.
func writtenTogether(ctx context.Context, r *backoff.Responsive, put func() (string, error)) (string, error) {
	b := r.BackOff() // one for each operation; all share the delay behind it
	version, err := cenkalti.Retry(ctx, put,
		cenkalti.WithBackOff(b),
		cenkalti.WithMaxTries(5))
	if err == nil {
		b.Succeeded() // the library does not report it
	}
	return version, err
}

func TestPeersAnswer(t *testing.T) {
	for name, through := range map[string]func(context.Context, func(context.Context) (string, error)) (string, error){
		"failsafe": askedByFailsafe,
		"gobreaker": func(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
			return chargedByGobreaker(ctx, func(ctx context.Context, _ int) (string, error) { return ask(ctx) })
		},
	} {
		for want, answer := range map[string]error{"yes": nil, "": errNoRoom} {
			got, err := through(t.Context(), func(context.Context) (string, error) { return want, answer })
			if got != want || !errors.Is(err, answer) {
				t.Errorf("%s: got %q, error %v want %q, error %v", name, got, err, want, answer)
			}
		}
	}
}

func TestALimiterForEachCustomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &perCustomer{limiters: map[string]*rate.Limiter{}}
		denied := 0
		for range 25 {
			if wait := p.retryAfter("ann"); wait == "1" {
				denied++
			}
		}
		if got := p.retryAfter("bob"); denied != 5 || got != "" {
			t.Errorf("got %d denials, and %q for another want 5 and none", denied, got)
		}
	})
}

func TestRetriesAloneAndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Must(backoff.New(backoff.Config{Name: "orders", Mode: backoff.Sleep}))
		defer r.Close()
		for name, write := range map[string]func(func() (string, error)) (string, error){
			"alone":    func(put func() (string, error)) (string, error) { return written(t.Context(), put) },
			"together": func(put func() (string, error)) (string, error) { return writtenTogether(t.Context(), r, put) },
		} {
			calls := 0
			got, err := write(func() (string, error) {
				if calls++; calls < 4 {
					return "", faults.ResourceExhausted()
				}
				return "7", nil
			})
			if got != "7" || err != nil || calls != 4 {
				t.Errorf("%s: got %q, error %v after %d calls want 7 after 4", name, got, err, calls)
			}
		}
		if s := r.Stats(); s.Ups != 3 || s.Successes != 1 {
			t.Errorf("the shared delay: got %+v want three steps up and a success", s)
		}
	})
}
