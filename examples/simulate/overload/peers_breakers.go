package overload

import (
	"time"

	"github.com/go-kratos/aegis/circuitbreaker"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
	"github.com/sony/gobreaker/v2"
	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"
	"github.com/zeromicro/go-zero/core/timex"

	"github.com/spillway-go/spillway/throttle"
)

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
