package overload

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/adaptive"
)

// ours are no throttle at all, and Spillway's.
func ours() []Policy {
	return []Policy{
		{Name: "none", Title: "no throttle", New: func(Env) (Client, error) { return open{}, nil }},
		{Name: "sre", Title: "Spillway, policy SRE", New: spillway(throttle.SRE)},
		{Name: "tiered", Title: "Spillway, policy Tiered", New: spillway(throttle.Tiered)},
		{Name: "adaptive", Title: "Spillway, package adaptive: the algorithm of gRPC, without priorities", New: newAdaptive},
	}
}

// open lets every call through.
type open struct{}

func (open) Admit(throttle.Priority) (Token, bool) { return Token{}, true }

func (open) End(Token, throttle.Outcome) {}

// throttled is a client with a throttle.
type throttled struct {
	throttle *throttle.Throttle
}

// spillway makes clients with a throttle of that policy.
func spillway(policy throttle.Policy) func(Env) (Client, error) {
	return func(e Env) (Client, error) {
		t, err := throttle.New(throttle.Config{
			Name: "backend", Policy: policy, Now: e.Now, Rand: e.Rand,
			Ratio: e.Settings.Ratio, MinimumRate: e.Settings.MinimumRate, Window: e.Settings.Window,
			TargetRejection: e.Settings.TargetRejection,
		})
		if err != nil {
			return nil, err
		}
		return throttled{t}, nil
	}
}

func (c throttled) Admit(p throttle.Priority) (Token, bool) {
	call, err := c.throttle.Admit(context.Background(), p)
	return Token{Call: call}, err == nil
}

func (c throttled) End(t Token, o throttle.Outcome) { t.Call.Finish(o) }

// plain is a client whose throttler knows no priorities.
type plain struct {
	throttler *adaptive.Throttler
}

func newAdaptive(e Env) (Client, error) {
	c := adaptive.Config{
		Duration: e.Settings.Window, RatioForAccepts: e.Settings.Ratio, Now: e.Now, Rand: e.Rand,
	}
	if rate := e.Settings.MinimumRate; rate != 0 {
		window := c.Duration
		if window == 0 {
			window = 30 * time.Second // the package's default
		}
		c.RequestsPadding = rate * window.Seconds()
	}
	t, err := adaptive.New(c)
	if err != nil {
		return nil, err
	}
	return plain{t}, nil
}

func (c plain) Admit(throttle.Priority) (Token, bool) { return Token{}, !c.throttler.ShouldThrottle() }

func (c plain) End(_ Token, o throttle.Outcome) {
	if o == throttle.Rejected {
		c.throttler.Throttled()
		return
	}
	c.throttler.Accepted()
}
