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
	return []Policy{failsafePolicy(), failsafePriorityPolicy(), goZeroPolicy(), aegisPolicy(), goBreakerPolicy()}
}

// errRejected is the error of a rejected call, for retries, and for peers that record errors.
var errRejected = throttle.MarkRejected(errors.New("rejected by the backend"))

// randomDelay waits for a random time of up to a microsecond. Some peers use the time as the seed
// of their random numbers. Without the delay all clients would have the same numbers in every run,
// because a bubble always begins at the same time.
func randomDelay(e Env) { time.Sleep(time.Duration(1 + 1000*e.Rand())) }

// peer is a client of another library, which ignores priorities or not.
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

// goZeroPolicy returns the policy of go-zero's breaker. It also turns off the logs of go-zero for
// the whole process: go-zero logs the memory of the process every minute as soon as it is imported.
func goZeroPolicy() Policy {
	logx.Disable()
	stat.SetReporter(nil)
	return peerPolicy("gozero", "go-zero's breaker", newGoZero)
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
	return peer{
		func(throttle.Priority) (any, bool) {
			promise, err := b.Allow()
			return promise, err == nil
		},
		func(promise any, accepted bool) {
			if accepted {
				promise.(breaker.Promise).Accept()
			} else {
				promise.(breaker.Promise).Reject(errRejected.Error())
			}
		},
	}
}

// aegisPolicy returns the policy of aegis's breaker. Its clients record a shed call as failed, as the
// documentation of aegis requires.
func aegisPolicy() Policy {
	return peerPolicy("aegis", "aegis's SRE breaker, as kratos uses it", func(e Env) peer {
		randomDelay(e)
		b := sre.NewBreaker()
		end := func(_ any, accepted bool) {
			if accepted {
				b.MarkSuccess()
			} else {
				b.MarkFailed()
			}
		}
		return peer{func(throttle.Priority) (any, bool) {
			admitted := b.Allow() == nil
			if !admitted {
				end(nil, false)
			}
			return nil, admitted
		}, end}
	})
}

func goBreakerPolicy() Policy {
	return peerPolicy("gobreaker", "gobreaker's circuit breaker", func(Env) peer {
		b := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: "backend"})
		return peer{
			func(throttle.Priority) (any, bool) {
				done, err := b.Allow()
				return done, err == nil
			},
			func(done any, accepted bool) {
				if accepted {
					done.(func(error))(nil)
				} else {
					done.(func(error))(errRejected)
				}
			},
		}
	})
}

// failsafePolicy returns the policy of failsafe-go's throttler, without its executor. Its random
// numbers cannot be seeded, so the figures vary a little from run to run.
func failsafePolicy() Policy {
	const title = "failsafe-go's adaptive throttler (its random numbers cannot be seeded)"
	return peerPolicy("failsafe", title, func(Env) peer {
		t := adaptivethrottler.NewWithDefaults[any]()
		return peer{func(throttle.Priority) (any, bool) { return nil, t.TryAcquirePermit() }, recordIn(t)}
	})
}

// calibration is the time between two calibrations of failsafe-go's prioritizer.
const calibration = time.Second

// failsafePriorityPolicy returns the policy of failsafe-go's throttler with priorities. Each client
// has a prioritizer, and calibrates it in the first call after each period. The goroutine that failsafe-go
// offers for this would never end, and neither would the bubble. Its random numbers cannot be seeded, so the
// figures vary a little from run to run.
func failsafePriorityPolicy() Policy {
	const title = "failsafe-go's prioritised throttler (its random numbers cannot be seeded)"
	return peerPolicy("failsafe-prio", title, func(Env) peer {
		prioritizer, due := adaptivethrottler.NewPrioritizer(), time.Now().Add(calibration)
		t := adaptivethrottler.NewBuilder[any]().BuildPrioritized(prioritizer)
		return peer{func(p throttle.Priority) (any, bool) {
			if now := time.Now(); !now.Before(due) {
				prioritizer.Calibrate()
				due = now.Truncate(calibration).Add(calibration)
			}
			return nil, t.TryAcquirePermitWithPriority(priority.VeryHigh - priority.Priority(p))
		}, recordIn(t)}
	})
}

// recordIn returns a function that records the end of a call in a throttler of failsafe-go.
func recordIn(t interface {
	RecordSuccess()
	RecordFailure()
},
) func(promise any, accepted bool) {
	return func(_ any, accepted bool) {
		if accepted {
			t.RecordSuccess()
		} else {
			t.RecordFailure()
		}
	}
}

// limiters returns policies that limit the open calls and have no priorities: with the documented defaults, and
// with a setting that suits backends that serve few calls per client.
func limiters() []Policy {
	least1 := adaptivelimiter.NewBuilder[any]().WithLimits(1, 200, 1).WithMaxLimitFactor(2)
	return []Policy{
		failsafeLimiter("failsafe-limiter", "failsafe-go's adaptive limiter", adaptivelimiter.NewBuilder[any]()),
		failsafeLimiter("failsafe-limiter-tuned", "the same, from a limit of 1, at most twice the open calls", least1),
	}
}

// failsafeLimiter returns the policy of failsafe-go's limiter, without its executor. Calls that time out
// are dropped, as its executor does.
func failsafeLimiter(name, title string, b adaptivelimiter.Builder[any]) Policy {
	return peerPolicy(name, title, func(Env) peer {
		l := b.Build()
		return peer{
			func(throttle.Priority) (any, bool) {
				permit, ok := l.TryAcquirePermit()
				return permit, ok
			},
			func(permit any, accepted bool) {
				if accepted {
					permit.(adaptivelimiter.Permit).Record()
				} else {
					permit.(adaptivelimiter.Permit).Drop()
				}
			},
		}
	})
}
