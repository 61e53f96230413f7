package overload

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Backend is how a backend selects calls if it cannot serve all of them.
type Backend uint8

// The kinds of backend.
const (
	Blind Backend = iota // serves calls while it has capacity, and rejects the others regardless of priority
	Aware                // serves higher priorities first
	Queue                // queues up to five seconds of work in order of arrival; callers time out after one second
	Pool                 // serves some calls at a time, each for some time: see Service
)

// Tiers has one number per standard priority.
type Tiers [throttle.StandardPriorities]float64

// Scenario is a backend, its clients, and the changes of load and capacity.
type Scenario struct {
	Name        string
	Family      string  // of related scenarios, such as "overload"
	Title       string  // one line that describes it
	Clients     int     // each has its own throttle
	KeepClients bool    // Options.Clients does not change them
	Capacity    float64 // calls per second that the healthy backend serves
	Backend     Backend
	Service     Service  // of a Pool
	Retry       string   // name of the retry rule of the clients; empty for none
	Unequal     bool     // the rates of the clients are from 1 to 100
	Reports     *Reports // of a backend that says its load; nil for none
	Tenants     []Tenant // on whose behalf the calls are made; empty for none
	Others      string   // name of the policy of every second client; empty for that of the run
	Cases       []Case   // usually one; a run plays all of them
}

// Case is a sequence of phases.
type Case struct {
	Name    string // empty if the scenario has one case
	Clients int    // 0 for the scenario's
	Phases  []Phase
}

// Phase is a part of a case with constant load and capacity.
type Phase struct {
	Length    time.Duration
	Load      Tiers   // calls per second offered, by priority, in multiples of the scenario's capacity
	Capacity  float64 // remaining share of the scenario's capacity
	Errors    float64 // share of the calls that the backend rejects for a reason other than load
	Failing   Tiers   // the same by priority, for a reason that concerns only this priority
	Slower    float64 // multiple of Service.Time, for calls whose service begins; 0 for 1, +Inf for calls that never end
	Active    float64 // share of the clients that make these calls; 0 for all
	Disturbed bool    // the phase is part of the disturbance
	Counted   bool    // Figures.FalseShed is of these phases
}
