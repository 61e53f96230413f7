package breaker

import "time"

// Stats is what a manager has done since it was made, and what it knows now.
type Stats struct {
	Name    string
	Calls   [NumStates]CallStats // by the state of their circuit
	Changes [NumStates]uint64    // of circuits to the state, made by this manager
	// Circuits is how many circuits are in each state, as this agent sees them. Closed are only those of which something
	// is remembered, such as trips.
	Circuits    [NumStates]int
	Failures    [NumFailures]uint64
	Probes      uint64 // granted to this agent
	LateResults uint64 // of calls that were admitted before their circuit changed; they count for nothing
	Notified    uint64
	Dropped     uint64 // results for which the counter had no room
	// SnapshotAge is how long ago the store was read last, -1 if it never was.
	SnapshotAge time.Duration
	Stale       bool // for longer than Config.MaxStale: Config.OnStale holds
	// Running is whether [Manager.Run] is under way. Without it nothing opens: this agent neither leads nor reads what others have found.
	// [Manager.Sample] is one round by hand, and counts as no more: Running stays false.
	Running    bool
	Leads      bool
	Term       uint64 // of the lease that holds, as far as this agent knows
	Leader     string // its owner
	DryRun     bool
	OnStale    StalePolicy
	MaxStale   time.Duration
	SampleRate time.Duration
}

// CallStats is what became of calls.
type CallStats struct {
	Admitted   uint64
	Shed       uint64
	ShadowShed uint64 // DryRun let them through; they are not among Admitted
}

// Circuits that are not closed, or have a past, as [Manager.List] and [Manager.Status] show them.

// Status is what an agent knows of a circuit.
type Status struct {
	Key        Key
	State      State
	Reason     Reason
	Forced     bool          // by hand: no count changes it
	Trips      int           // in a row
	Generation uint64        // rises with every change but that from open to half-open
	ChangedAt  time.Time     // by the store's clock
	RetryAfter time.Duration // until it is half-open
	Failures   float64       // that were polled when it changed
	Successes  float64
	DryRun     bool
}
