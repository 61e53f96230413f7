package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Backend is how a backend chooses what to serve when it cannot serve everything.
type Backend uint8

// The kinds of backend.
const (
	Blind Backend = iota // serves what comes while it has capacity, rejects the rest whatever its priority
	Aware                // gives way to higher priorities
	Queue                // queues up to five seconds of work in order of arrival, while its callers wait for one second
)

// Tiers holds one number per standard priority.
type Tiers [throttle.StandardPriorities]float64

// Scenario is what happens to a backend, and to the clients that depend on it.
type Scenario struct {
	Name     string
	Family   string  // of scenarios that belong together, such as "overload"
	Title    string  // one line for people
	Clients  int     // each with a throttle of its own
	Capacity float64 // calls per second that the healthy backend serves
	Backend  Backend
	Cases    []Case // usually one; a seed plays them all
}

// Case is one course of events.
type Case struct {
	Name    string // empty if it is the only one
	Clients int    // 0 for the scenario's
	Phases  []Phase
}

// Phase is a part of a case, during which nothing changes.
type Phase struct {
	Length    time.Duration
	Load      Tiers   // calls per second offered, by priority, in multiples of the scenario's capacity
	Capacity  float64 // share of the scenario's capacity that is there
	Errors    float64 // share of the calls served that the backend rejects for reasons that have nothing to do with load
	Failing   Tiers   // the same by priority, for that priority's own reason
	Disturbed bool    // part of the disturbance
}
