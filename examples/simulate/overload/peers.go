package overload

import (
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/priority"
	"github.com/go-kratos/aegis/circuitbreaker"
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
	return []Policy{failsafePolicy(), failsafePriorityPolicy(), goZeroPolicy(), aegisPolicy(), goBreakerPolicy()}
}

// errRejected is the error of a rejected call, for retries, and for peers that record errors.
var errRejected = throttle.MarkRejected(errors.New("rejected by the backend"))

// randomDelay waits for a random time of up to a microsecond. Some peers use the time as the seed
// of their random numbers. Without the delay all clients would have the same numbers in every run,
// because a bubble always begins at the same time.
func randomDelay(e Env) { time.Sleep(time.Duration(1 + 1000*e.Rand())) }

// goZeroPolicy returns the policy of go-zero's breaker. It also turns off the logs of go-zero for
// the whole process: go-zero logs the memory of the process every minute as soon as it is imported.
func goZeroPolicy() Policy {
	logx.Disable()
	stat.SetReporter(nil)
	return Policy{Name: "gozero", Title: "go-zero's breaker", RealClock: true, New: newGoZero}
}

type goZeroClient struct {
	breaker breaker.Breaker
}

// newGoZero makes a client. go-zero counts time from a year before the process began, and treats
// earlier times as unset. The clock of a bubble begins in the year 2000, so the first client of a
// bubble waits until the year 2100.
func newGoZero(e Env) (Client, error) {
	if timex.Now() <= 0 {
		time.Sleep(time.Until(time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)))
	}
	randomDelay(e)
	return goZeroClient{breaker.NewBreaker(breaker.WithName("backend"))}, nil
}

func (c goZeroClient) Admit(throttle.Priority) (Token, bool) {
	promise, err := c.breaker.Allow()
	return Token{Promise: promise}, err == nil
}

func (c goZeroClient) End(t Token, o throttle.Outcome) {
	promise := t.Promise.(breaker.Promise)
	if o == throttle.Accepted {
		promise.Accept()
		return
	}
	promise.Reject(errRejected.Error())
}

func aegisPolicy() Policy {
	return Policy{
		Name: "aegis", Title: "aegis's SRE breaker, as kratos uses it", RealClock: true,
		New: func(e Env) (Client, error) {
			randomDelay(e)
			return aegisClient{sre.NewBreaker()}, nil
		},
	}
}

type aegisClient struct {
	breaker circuitbreaker.CircuitBreaker
}

// Admit records a shed call as failed, as the documentation of aegis requires.
func (c aegisClient) Admit(throttle.Priority) (Token, bool) {
	if c.breaker.Allow() != nil {
		c.breaker.MarkFailed()
		return Token{}, false
	}
	return Token{}, true
}

func (c aegisClient) End(_ Token, o throttle.Outcome) {
	if o == throttle.Accepted {
		c.breaker.MarkSuccess()
		return
	}
	c.breaker.MarkFailed()
}

func goBreakerPolicy() Policy {
	return Policy{
		Name: "gobreaker", Title: "gobreaker's circuit breaker", RealClock: true,
		New: func(Env) (Client, error) {
			return goBreakerClient{gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "backend"})}, nil
		},
	}
}

type goBreakerClient struct {
	breaker *gobreaker.TwoStepCircuitBreaker[any]
}

func (c goBreakerClient) Admit(throttle.Priority) (Token, bool) {
	done, err := c.breaker.Allow()
	return Token{Promise: done}, err == nil
}

func (c goBreakerClient) End(t Token, o throttle.Outcome) {
	done := t.Promise.(func(error))
	if o == throttle.Accepted {
		done(nil)
		return
	}
	done(errRejected)
}

// calibration is the time between two calibrations of failsafe-go's prioritizer.
const calibration = time.Second

// failsafePolicy returns the policy of failsafe-go's throttler, without its executor. Its random
// numbers cannot be seeded, so the figures vary a little from run to run.
func failsafePolicy() Policy {
	return Policy{
		Name: "failsafe", Title: "failsafe-go's adaptive throttler (its random numbers cannot be seeded)", RealClock: true,
		New: func(Env) (Client, error) { return failsafeClient{adaptivethrottler.NewWithDefaults[any]()}, nil },
	}
}

// failsafePriorityPolicy returns the policy of failsafe-go's throttler with priorities. Each client
// has a prioritizer. Its random numbers cannot be seeded, so the figures vary a little from run to
// run.
func failsafePriorityPolicy() Policy {
	return Policy{
		Name: "failsafe-prio", Title: "failsafe-go's prioritised throttler (its random numbers cannot be seeded)", RealClock: true,
		New: func(Env) (Client, error) {
			p := adaptivethrottler.NewPrioritizer()
			return &failsafePriorityClient{
				prioritizer: p, due: time.Now().Add(calibration),
				throttler: adaptivethrottler.NewBuilder[any]().BuildPrioritized(p),
			}, nil
		},
	}
}

type failsafeClient struct {
	throttler adaptivethrottler.AdaptiveThrottler[any]
}

func (c failsafeClient) Admit(throttle.Priority) (Token, bool) {
	return Token{}, c.throttler.TryAcquirePermit()
}

func (c failsafeClient) End(_ Token, o throttle.Outcome) { recordIn(c.throttler, o) }

// failsafePriorityClient calibrates its prioritizer in the first call after each period. The
// goroutine that failsafe-go offers for this would never end, and neither would the bubble.
type failsafePriorityClient struct {
	throttler   adaptivethrottler.PriorityThrottler[any]
	prioritizer priority.Prioritizer
	due         time.Time
}

func (c *failsafePriorityClient) Admit(p throttle.Priority) (Token, bool) {
	if now := time.Now(); !now.Before(c.due) {
		c.prioritizer.Calibrate()
		c.due = now.Truncate(calibration).Add(calibration)
	}
	return Token{}, c.throttler.TryAcquirePermitWithPriority(priority.VeryHigh - priority.Priority(p))
}

func (c *failsafePriorityClient) End(_ Token, o throttle.Outcome) { recordIn(c.throttler, o) }

// recordIn records the outcome of a call in a throttler of failsafe-go.
func recordIn(t interface {
	RecordSuccess()
	RecordFailure()
}, o throttle.Outcome,
) {
	if o == throttle.Accepted {
		t.RecordSuccess()
		return
	}
	t.RecordFailure()
}
