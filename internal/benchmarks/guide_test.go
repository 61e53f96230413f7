package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	cenkalti "github.com/cenkalti/backoff/v5"
	"github.com/deixis/faults"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/go-kratos/aegis/circuitbreaker"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
	"github.com/sony/gobreaker/v2"
	"github.com/zeromicro/go-zero/core/breaker"
	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// The peers' side of docs/coming-from.md and docs/coming-from-frameworks.md: what a program has before it comes to us. Our side is in the
// guide_test.go of each package and of internal/recipes.

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

// askedByGoZero goes through the breaker of core/breaker that has this name.
func askedByGoZero(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
	var answer string
	err := breaker.DoWithAcceptableCtx(ctx, "answers", func() (err error) {
		answer, err = ask(ctx)
		return err
	}, func(err error) bool { return err == nil || errors.Is(err, context.Canceled) })
	if errors.Is(err, breaker.ErrServiceUnavailable) {
		return "", err // it was not sent
	}
	return answer, err
}

// askedByAegis counts as the middleware of kratos does.
func askedByAegis(ctx context.Context, b circuitbreaker.CircuitBreaker, ask func(context.Context) (string, error)) (string, error) {
	if err := b.Allow(); err != nil {
		b.MarkFailed() // or it is not counted
		return "", err
	}
	answer, err := ask(ctx)
	if err != nil {
		b.MarkFailed()
	} else {
		b.MarkSuccess()
	}
	return answer, err
}

// chargedByHystrix has hystrix-go's defaults, except MaxConcurrentRequests.
func chargedByHystrix(ctx context.Context, charge func(context.Context, int) (string, error)) (string, error) {
	hystrix.ConfigureCommand("stripe", hystrix.CommandConfig{
		Timeout: 1000, SleepWindow: 5000, // milliseconds
		RequestVolumeThreshold: 20, ErrorPercentThreshold: 50,
		MaxConcurrentRequests: 100,
	})
	receipts := make(chan string, 1) // after a timeout the function still runs
	err := hystrix.DoC(ctx, "stripe", func(ctx context.Context) error {
		receipt, err := charge(ctx, 100)
		receipts <- receipt
		return err
	}, nil)
	if err != nil {
		return "", err
	}
	return <-receipts, nil
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
		"go-zero": askedByGoZero,
		"aegis": func(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
			return askedByAegis(ctx, sre.NewBreaker(), ask)
		},
		"hystrix": func(ctx context.Context, ask func(context.Context) (string, error)) (string, error) {
			return chargedByHystrix(ctx, func(ctx context.Context, _ int) (string, error) { return ask(ctx) })
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

// The other half of "an ordinary error is accepted" in docs/coming-from-frameworks.md.
func TestPeersRefuseAfterOrdinaryErrors(t *testing.T) {
	goZero, aegis, failing := breaker.NewBreaker(), sre.NewBreaker(), func() error { return errNoRoom }
	for name, call := range map[string]func() error{
		"go-zero": func() error { return goZero.Do(failing) },
		"aegis": func() error {
			_, err := askedByAegis(t.Context(), aegis, func(context.Context) (string, error) { return "", errNoRoom })
			return err
		},
	} {
		refused := 0
		for range 500 {
			if err := call(); !errors.Is(err, errNoRoom) {
				refused++
			}
		}
		if refused < 350 {
			t.Errorf("%s: got %d of 500 refused want 350 or more", name, refused)
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
