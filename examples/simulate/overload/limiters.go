package overload

import (
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/spillway-go/spillway/throttle"
)

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
	return Policy{Name: name, Title: title, RealClock: true, New: func(Env) (Client, error) { return failsafeLimited{b.Build()}, nil }}
}

type failsafeLimited struct {
	limiter adaptivelimiter.AdaptiveLimiter[any]
}

func (c failsafeLimited) Admit(throttle.Priority) (Token, bool) {
	permit, ok := c.limiter.TryAcquirePermit()
	return Token{Promise: permit}, ok
}

func (c failsafeLimited) End(t Token, o throttle.Outcome) {
	permit := t.Promise.(adaptivelimiter.Permit)
	if o == throttle.Accepted {
		permit.Record()
		return
	}
	permit.Drop()
}
