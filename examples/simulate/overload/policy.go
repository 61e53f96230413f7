package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Policy is what stands between a client and the backend.
type Policy struct {
	Name  string // as on the command line
	Title string // one line for people
	// RealClock says that it reads the time from package time, so that it must run in a bubble of testing/synctest.
	RealClock bool
	New       func(Env) (Client, error)
}

// Env is what the simulation gives to a client.
type Env struct {
	Now      func() time.Time
	Rand     func() float64
	Settings Settings
}

// Settings change what Spillway's policies would take as default. Zero means that default.
type Settings struct {
	Ratio, MinimumRate, TargetRejection float64
	Window                              time.Duration
}

// Client is one client's throttle. The simulation calls it from one goroutine.
type Client interface {
	// Admit decides about a call. What it returns beside true is given back to End.
	Admit(p throttle.Priority) (Token, bool)
	// End tells how an admitted call ended: Accepted or Rejected.
	End(t Token, o throttle.Outcome)
}

// Token is what a client wants to know again about a call that it admitted.
type Token struct {
	Call    throttle.Call
	Promise any
}

// Policies returns every policy: ours first, then other libraries.
func Policies() []Policy {
	return append(ours(), peers()...)
}

// FindPolicies returns the policies of a comma-separated list of names, or "all": in that order, each once.
func FindPolicies(list string) ([]Policy, error) {
	return find("policy", list, Policies(), func(p Policy) (name, family string) { return p.Name, "" })
}
