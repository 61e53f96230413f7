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
	subjects := []*subject{
		failsafeAllowed(), failsafeExecutor(), gobreakerAllowed(), goZeroAllowed(), aegisAllowed(), rateAllowed(),
		failsafeShed(), gobreakerShed(), goZeroShed(), aegisShed(),
	}
	for _, s := range subjects {
		s.group = "peers"
	}
	return subjects
}

// refused says that an operation was shed.
func refused(err error) bool { return err != nil }

// through makes a call that ends well through failsafe-go's throttler, without its executor.
func through(t adaptivethrottler.AdaptiveThrottler[any]) func() error {
	ctx := context.Background()
	return func() error {
		if !t.TryAcquirePermit() {
			return errShed
		}
		err := noop(ctx)
		t.RecordSuccess()
		return err
	}
}

func failsafeAllowed() *subject {
	return &subject{name: "failsafe-go throttler, direct", op: through(adaptivethrottler.NewWithDefaults[any]()), pair: true}
}

func failsafeShed() *subject {
	t := adaptivethrottler.NewBuilder[any]().WithMaxRejectionRate(1).Build()
	return &subject{
		name: "failsafe-go throttler, direct, shed", good: refused, least: 0.99,
		prepare: func() { times(100, t.RecordFailure) },
		op: func() error {
			err := t.AcquirePermit()
			if err == nil {
				t.RecordFailure()
			}
			return err
		},
	}
}

func failsafeExecutor() *subject {
	executor := failsafe.With[any](adaptivethrottler.NewWithDefaults[any]())
	return &subject{name: "failsafe-go throttler, executor", op: func() error { return executor.Run(noopPlain) }}
}

func gobreakerAllowed() *subject {
	cb := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{Name: "bench"})
	return &subject{name: "gobreaker", pair: true, op: func() error {
		_, err := cb.Execute(noopAny)
		return err
	}}
}

func gobreakerShed() *subject {
	cb := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{Name: "bench", Timeout: time.Hour})
	run := func() (any, error) { return nil, context.DeadlineExceeded }
	op := func() error {
		_, err := cb.Execute(run)
		return err
	}
	times(10, func() { _ = op() })
	return &subject{name: "gobreaker, shed", op: op, good: func(err error) bool { return errors.Is(err, gobreaker.ErrOpenState) }}
}

func goZeroAllowed() *subject {
	b := breaker.NewBreaker(breaker.WithName("bench"))
	return &subject{name: "go-zero breaker", op: func() error { return b.Do(noopPlain) }, pair: true}
}

func goZeroShed() *subject {
	b := breaker.NewBreaker(breaker.WithName("bench"))
	op := func() error { return b.Do(func() error { return context.DeadlineExceeded }) }
	return &subject{
		name: "go-zero breaker, shed", op: op, least: 0.97,
		prepare: func() { times(100, func() { _ = op() }) },
		good:    func(err error) bool { return errors.Is(err, breaker.ErrServiceUnavailable) },
	}
}

func aegisAllowed() *subject {
	ctx := context.Background()
	b := sre.NewBreaker()
	return &subject{name: "aegis sre", pair: true, op: func() error {
		if err := b.Allow(); err != nil {
			return err
		}
		err := noop(ctx)
		b.MarkSuccess()
		return err
	}}
}

func aegisShed() *subject {
	b := sre.NewBreaker()
	return &subject{
		name: "aegis sre, shed", op: b.Allow, good: refused, least: 0.99,
		prepare: func() { times(100, b.MarkFailed) },
	}
}

// rateAllowed makes calls through x/time's token bucket, which learns nothing from how they end.
func rateAllowed() *subject {
	ctx, l := context.Background(), rate.NewLimiter(unlimited, unlimited)
	return &subject{name: "x/time rate", pair: true, op: func() error {
		if !l.Allow() {
			return errShed
		}
		return noop(ctx)
	}}
}

func times(n int, f func()) {
	for range n {
		f()
	}
}
