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

// peers are other libraries, each used as its documentation says, with its defaults.
func peers() []Policy {
	return []Policy{failsafePolicy(), failsafePriorityPolicy(), goZeroPolicy(), aegisPolicy(), goBreakerPolicy()}
}

// errRejected is what the peers are told of a rejected call that want to be told of an error.
var errRejected = errors.New("rejected by the backend")

// scatter lets up to a microsecond of the bubble's time pass. Peers that seed their dice by the time would otherwise all
// draw the same numbers, and in every run.
func scatter(e Env) { time.Sleep(time.Duration(1 + 1000*e.Rand())) }

// goZeroPolicy is go-zero's breaker. It also silences go-zero's logs, which is a setting of the process: already imported, go-zero
// writes about the process's memory to its output, every minute.
func goZeroPolicy() Policy {
	logx.Disable()
	stat.SetReporter(nil)
	return Policy{Name: "gozero", Title: "go-zero's breaker", RealClock: true, New: newGoZero}
}

type goZeroClient struct {
	breaker breaker.Breaker
}

// newGoZero makes a client. A bubble's clock begins in the year 2000, while go-zero counts time from a year before the process
// began and takes what was before for never: so the first client waits.
func newGoZero(e Env) (Client, error) {
	if timex.Now() <= 0 {
		time.Sleep(time.Until(time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)))
	}
	scatter(e)
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

// aegisPolicy is the breaker of aegis.
func aegisPolicy() Policy {
	return Policy{
		Name: "aegis", Title: "aegis's SRE breaker, as kratos uses it", RealClock: true,
		New: func(e Env) (Client, error) {
			scatter(e)
			return aegisClient{sre.NewBreaker()}, nil
		},
	}
}

type aegisClient struct {
	breaker circuitbreaker.CircuitBreaker
}

// Admit counts a call that is shed as failed, as aegis asks its callers to.
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

// goBreakerPolicy is gobreaker, a classic circuit breaker.
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

// calibration is how often failsafe-go's prioritizer looks at what has been rejected.
const calibration = time.Second

// failsafePolicy is failsafe-go's throttler, without its executor. Its dice cannot be seeded: figures vary a little from run
// to run.
func failsafePolicy() Policy {
	return Policy{
		Name: "failsafe", Title: "failsafe-go's adaptive throttler (its dice cannot be seeded)", RealClock: true,
		New: func(Env) (Client, error) { return failsafeClient{adaptivethrottler.NewWithDefaults[any]()}, nil },
	}
}

// failsafePriorityPolicy is failsafe-go's throttler with priorities, and a prioritizer for each client. Its dice cannot be
// seeded: figures vary a little from run to run.
func failsafePriorityPolicy() Policy {
	return Policy{
		Name: "failsafe-prio", Title: "failsafe-go's prioritised throttler (its dice cannot be seeded)", RealClock: true,
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

// failsafePriorityClient calibrates its prioritizer itself, when a call shows that it is time: what failsafe-go offers for that
// is a goroutine, which would keep the bubble from ending.
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

// recordIn tells a throttler of failsafe-go how a call has ended.
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
