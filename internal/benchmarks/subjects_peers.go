package main

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
	"github.com/sony/gobreaker/v2"
	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"
	"golang.org/x/time/rate"
)

// unlimited is more events per second than any subject makes.
const unlimited = 1e9

// errShed is what the peers' subjects return for a call that was refused, where the peer has no error of its own.
var errShed = errors.New("shed")

// peers are other libraries of the trade, each used as its documentation says, with its defaults.
func peers() []*subject {
	logx.Disable()
	stat.SetReporter(nil)
	return append(allowedByPeers(), shedByPeers()...)
}

// allowedByPeers returns calls that end well. That of x/time does not learn how they end.
func allowedByPeers() []*subject {
	ctx := context.Background()
	throttler, executor := adaptivethrottler.NewWithDefaults[any](), failsafe.With[any](adaptivethrottler.NewWithDefaults[any]())
	goBreaker := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{Name: "bench"})
	goZero, aegis := breaker.NewBreaker(breaker.WithName("bench")), sre.NewBreaker()
	limiter := rate.NewLimiter(unlimited, unlimited)
	return []*subject{
		{name: "failsafe-go throttler, direct", pair: true, op: func() error { // without its executor
			if !throttler.TryAcquirePermit() {
				return errShed
			}
			err := noop(ctx)
			throttler.RecordSuccess()
			return err
		}},
		{name: "failsafe-go throttler, executor", op: func() error { return executor.Run(noopPlain) }},
		{name: "gobreaker", pair: true, op: func() error {
			_, err := goBreaker.Execute(noopAny)
			return err
		}},
		{name: "go-zero breaker", pair: true, op: func() error { return goZero.Do(noopPlain) }},
		{name: "aegis sre", pair: true, op: func() error {
			if err := aegis.Allow(); err != nil {
				return err
			}
			err := noop(ctx)
			aegis.MarkSuccess()
			return err
		}},
		{name: "x/time rate", pair: true, op: func() error {
			if !limiter.Allow() {
				return errShed
			}
			return noop(ctx)
		}},
	}
}

// shedByPeers returns calls that are shed, because all others have failed.
func shedByPeers() []*subject {
	throttler := adaptivethrottler.NewBuilder[any]().WithMaxRejectionRate(1).Build()
	goBreaker := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{Name: "bench", Timeout: time.Hour})
	goZero, aegis := breaker.NewBreaker(breaker.WithName("bench")), sre.NewBreaker()
	viaGoBreaker := func() error {
		_, err := goBreaker.Execute(func() (any, error) { return nil, context.DeadlineExceeded })
		return err
	}
	viaGoZero := func() error { return goZero.Do(func() error { return context.DeadlineExceeded }) }
	refused := func(err error) bool { return err != nil }
	times(10, func() { _ = viaGoBreaker() })
	return []*subject{
		{
			name: "failsafe-go throttler, direct, shed", good: refused, least: 0.99,
			prepare: func() { times(100, throttler.RecordFailure) },
			op: func() error {
				err := throttler.AcquirePermit()
				if err == nil {
					throttler.RecordFailure()
				}
				return err
			},
		},
		{name: "gobreaker, shed", op: viaGoBreaker, good: func(err error) bool { return errors.Is(err, gobreaker.ErrOpenState) }},
		{
			name: "go-zero breaker, shed", op: viaGoZero, least: 0.97,
			prepare: func() { times(100, func() { _ = viaGoZero() }) },
			good:    func(err error) bool { return errors.Is(err, breaker.ErrServiceUnavailable) },
		},
		{name: "aegis sre, shed", op: aegis.Allow, good: refused, least: 0.99, prepare: func() { times(100, aegis.MarkFailed) }},
	}
}

func times(n int, f func()) {
	for range n {
		f()
	}
}
