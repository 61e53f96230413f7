package overload

import (
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/priority"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
	"github.com/sony/gobreaker/v2"
	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"
	"github.com/zeromicro/go-zero/core/timex"

	"github.com/spillway-go/spillway/throttle"
)

// peers returns the policies of other libraries. Each library is used as its documentation
// describes, with its default settings.
func peers() []Policy {
	logx.Disable() // go-zero logs the memory of the process every minute as soon as it is imported
	stat.SetReporter(nil)
	return []Policy{
		peerPolicy("failsafe", "failsafe-go's adaptive throttler (its random numbers cannot be seeded)", newFailsafe),
		peerPolicy("failsafe-prio", "failsafe-go's prioritised throttler (its random numbers cannot be seeded)", newFailsafePriority),
		peerPolicy("gozero", "go-zero's breaker", newGoZero),
		peerPolicy("aegis", "aegis's SRE breaker, as kratos uses it", newAegis),
		peerPolicy("gobreaker", "gobreaker's circuit breaker", newGoBreaker),
	}
}

// errRejected is the error of a rejected call, for retries, and for peers that record errors.
var errRejected = throttle.MarkRejected(errors.New("rejected by the backend"))

// randomDelay waits for a random time of up to a microsecond. Some peers use the time as the seed
// of their random numbers. Without the delay all clients would have the same numbers in every run,
// because a bubble always begins at the same time.
func randomDelay(e Env) { time.Sleep(time.Duration(1 + 1000*e.Rand())) }

// peer is a client of another library, or a simple one. end gets what admit returned.
type peer struct {
	admit func(throttle.Priority) (promise any, ok bool)
	end   func(promise any, accepted bool)
}

// Admit asks the library.
func (c peer) Admit(p throttle.Priority) (Token, bool) {
	promise, ok := c.admit(p)
	return Token{Promise: promise}, ok
}

// End reports the end of the call to the library.
func (c peer) End(t Token, o throttle.Outcome) { c.end(t.Promise, o == throttle.Accepted) }

// peerPolicy returns a policy whose clients read package time.
func peerPolicy(name, title string, client func(Env) peer) Policy {
	return Policy{Name: name, Title: title, RealClock: true, New: func(e Env) (Client, error) { return client(e), nil }}
}

// either returns an end that calls one of two functions.
func either(succeeded, failed func()) func(any, bool) {
	return func(_ any, accepted bool) {
		if accepted {
			succeeded()
		} else {
			failed()
		}
	}
}

// newGoZero makes a client. go-zero counts time from a year before the process began, and treats
// earlier times as unset. The clock of a bubble begins in the year 2000, so the first client of a
// bubble waits until the year 2100.
func newGoZero(e Env) peer {
	if timex.Now() <= 0 {
		time.Sleep(time.Until(time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)))
	}
	randomDelay(e)
	b := breaker.NewBreaker(breaker.WithName("backend"))
	return peer{func(throttle.Priority) (any, bool) {
		promise, err := b.Allow()
		return promise, err == nil
	}, func(promise any, accepted bool) {
		p := promise.(breaker.Promise)
		either(p.Accept, func() { p.Reject(errRejected.Error()) })(nil, accepted)
	}}
}

// newAegis makes a client that records a shed call as failed, as the documentation of aegis requires.
func newAegis(e Env) peer {
	randomDelay(e)
	b := sre.NewBreaker()
	return peer{func(throttle.Priority) (any, bool) {
		err := b.Allow()
		if err != nil {
			b.MarkFailed()
		}
		return nil, err == nil
	}, either(b.MarkSuccess, b.MarkFailed)}
}

func newGoBreaker(Env) peer {
	b := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "backend"})
	return peer{func(throttle.Priority) (any, bool) {
		done, err := b.Allow()
		return done, err == nil
	}, func(promise any, accepted bool) {
		done := promise.(func(error))
		either(func() { done(nil) }, func() { done(errRejected) })(nil, accepted)
	}}
}

// newFailsafe makes a client of failsafe-go's throttler, without its executor.
func newFailsafe(Env) peer {
	t := adaptivethrottler.NewWithDefaults[any]()
	return peer{func(throttle.Priority) (any, bool) { return nil, t.TryAcquirePermit() }, either(t.RecordSuccess, t.RecordFailure)}
}

// newFailsafePriority makes a client of failsafe-go's throttler with priorities. Each client has a
// prioritizer, and calibrates it in the first call of each second. The goroutine that failsafe-go offers for
// this would never end, and neither would the bubble.
func newFailsafePriority(Env) peer {
	const calibration = time.Second
	prioritizer, due := adaptivethrottler.NewPrioritizer(), time.Now().Add(calibration)
	t := adaptivethrottler.NewBuilder[any]().BuildPrioritized(prioritizer)
	return peer{func(p throttle.Priority) (any, bool) {
		if now := time.Now(); !now.Before(due) {
			prioritizer.Calibrate()
			due = now.Truncate(calibration).Add(calibration)
		}
		return nil, t.TryAcquirePermitWithPriority(priority.VeryHigh - priority.Priority(p))
	}, either(t.RecordSuccess, t.RecordFailure)}
}

// limiters returns policies that limit the open calls and have no priorities: with the documented defaults, and
// with a setting that suits backends that serve few calls per client.
func limiters() []Policy {
	usual := adaptivelimiter.NewBuilder[any]()
	least1 := adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 1).WithMaxLimitFactor(2)
	return []Policy{
		peerPolicy("failsafe-limiter", "failsafe-go's adaptive limiter", func(Env) peer { return newLimiter(usual) }),
		peerPolicy("failsafe-limiter-tuned", "the same, from a limit of 1, at most twice the open calls",
			func(Env) peer { return newLimiter(least1) }),
	}
}

// newLimiter makes a client of failsafe-go's limiter, without its executor. Calls that time out are dropped,
// as its executor does.
func newLimiter(b adaptivelimiter.Builder[any]) peer {
	l := b.Build()
	return peer{func(throttle.Priority) (any, bool) {
		permit, ok := l.TryAcquirePermit()
		return permit, ok
	}, func(permit any, accepted bool) {
		p := permit.(adaptivelimiter.Permit)
		either(p.Record, p.Drop)(nil, accepted)
	}}
}
