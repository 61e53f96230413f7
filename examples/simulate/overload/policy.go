package overload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/adaptive"
)

// Policy makes the throttles of the clients.
type Policy struct {
	Name  string // as in FindPolicies
	Title string // one line that describes it
	// RealClock means that the throttles read package time, so they need Options.Bubble.
	RealClock bool
	New       func(Env) (Client, error)
	// Retry is the name of the rule by which its clients retry. Empty means that of the scenario.
	Retry string
}

func (p *Policy) validate() error {
	if p.New == nil {
		return fmt.Errorf("overload: New of policy %q is nil: want a function", p.Name)
	}
	if _, err := ruleOf(p.Retry); err != nil {
		return fmt.Errorf("overload: policy %q: %w", p.Name, err)
	}
	return nil
}

// Env is the environment of a client in the simulation.
type Env struct {
	Now      func() time.Time
	Rand     func() float64
	Settings Settings
	Weight   func(tenant string) float64 // of the scenario; nil without tenants
}

// Settings change the settings of Spillway's policies. A zero field means the default of the
// policy.
type Settings struct {
	Ratio, MinimumRate, TargetRejection, Background float64
	Window, Slow                                    time.Duration
	SlowAuto                                        bool
}

// Client is the throttle of one client. The simulation calls it from one goroutine.
type Client interface {
	// Admit decides on a call. The token of an admitted call is passed to End.
	Admit(p throttle.Priority) (Token, bool)
	// End records the outcome of an admitted call: Accepted, Rejected or Overloaded.
	End(t Token, o throttle.Outcome)
}

// listener is a client that receives the load reports of the backend.
type listener interface {
	Receive(r throttle.LoadReport)
}

// Token identifies an admitted call. A client uses the field that suits it.
type Token struct {
	Call    throttle.Call
	Promise any
}

// Policies returns every policy: those of Spillway, then those of other libraries.
func Policies() []Policy {
	return slices.Concat(ours(), limiters(), peers())
}

// FindPolicies returns the policies of a comma-separated list of names, or "all". It returns each
// once, in the order of the list.
func FindPolicies(list string) ([]Policy, error) {
	return find("policy", list, Policies(), func(p Policy) (name, family string) { return p.Name, "" })
}

// ours returns the policy without a throttle, and those of Spillway.
func ours() []Policy {
	return []Policy{
		{Name: "none", Title: "no throttle", New: newUnthrottled},
		{Name: "sre", Title: "Spillway, policy SRE", New: spillway(throttle.SRE, throttled{})},
		{Name: "tiered", Title: "Spillway, policy Tiered", New: spillway(throttle.Tiered, throttled{})},
		{Name: "listening", Title: "Spillway, policy Tiered, and clients that receive load reports: see -reports", New: spillway(throttle.Tiered, throttled{listens: true})},
		{Name: "fair", Title: "Spillway, policy Tiered, and calls with their tenant", New: spillway(throttle.Tiered, throttled{fair: true})},
		{Name: "tiered-v1", Title: "Spillway, policy Tiered of November 2026, with its default settings", New: newTieredV1},
		{Name: "adaptive", Title: "Spillway, package adaptive: the algorithm of gRPC, without priorities", New: newAdaptive},
	}
}

func newUnthrottled(Env) (Client, error) {
	return peer{func(throttle.Priority) (any, bool) { return nil, true }, func(any, bool) {}}, nil
}

// throttled is a client with a throttle. It may receive load reports, or make its calls with their tenant.
type throttled struct {
	throttle      *throttle.Throttle
	listens, fair bool
}

// spillway returns a function that makes clients like c with a throttle of the policy.
func spillway(policy throttle.Policy, c throttled) func(Env) (Client, error) {
	return func(e Env) (Client, error) {
		t, err := throttle.New(throttle.Config{
			Name: "backend", Policy: policy, Now: e.Now, Rand: e.Rand,
			Ratio: e.Settings.Ratio, MinimumRate: e.Settings.MinimumRate, Window: e.Settings.Window,
			TargetRejection: e.Settings.TargetRejection, Background: e.Settings.Background,
			Slow: e.Settings.Slow, SlowAuto: e.Settings.SlowAuto,
			Tenants: throttle.Tenants{Weight: e.Weight},
		})
		return throttled{t, c.listens, c.fair}, err
	}
}

// Admit uses Throttle.Admit, not Do, because the simulation ends the call later.
func (c throttled) Admit(p throttle.Priority) (Token, bool) {
	call, err := c.throttle.Admit(context.Background(), p)
	return Token{Call: call}, err == nil
}

func (c throttled) End(t Token, o throttle.Outcome) { t.Call.Finish(o) }

func (c throttled) Receive(r throttle.LoadReport) {
	if c.listens {
		c.throttle.ReceiveLoad(r)
	}
}

// newAdaptive makes a client whose throttler ignores priorities.
func newAdaptive(e Env) (Client, error) {
	const defaultDuration = 30 * time.Second
	t, err := adaptive.New(adaptive.Config{
		Duration: e.Settings.Window, RatioForAccepts: e.Settings.Ratio, Now: e.Now, Rand: e.Rand,
		RequestsPadding: e.Settings.MinimumRate * cmp.Or(e.Settings.Window, defaultDuration).Seconds(),
	})
	if err != nil {
		return nil, err
	}
	return peer{func(throttle.Priority) (any, bool) { return nil, !t.ShouldThrottle() }, either(t.Accepted, t.Throttled)}, nil
}
