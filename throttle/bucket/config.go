package bucket

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Defaults and bounds of Config.
const (
	defaultTimeout = 50 * time.Millisecond
	minWait        = time.Millisecond
	maxTimeout     = time.Minute
	maxLeaseFor    = 100 * time.Millisecond
	maxLease       = 1e9
	maxReplicas    = 1e6
)

// FailurePolicy is how a limiter decides if the store fails or gives no answer in time. The result
// of a method depends on it:
//
//	method               FailOpen       FailClosed       LocalShare
//	Take                 nil            ErrStore         nil or *DeniedError
//	Wait                 nil            ErrStore         waits for local tokens: nil or *DeniedError
//	Decide and DecideN   Allowed        ErrStore         Allowed true or false
//	Allow                true           false            true or false
//	Middleware           serves         503              serves or 429
//	Return and Reset     ErrStore       ErrStore         ErrStore
//
// ErrStore means an error err for which errors.Is(err, [ErrStore]) is true. Wait returns it too: it
// does not wait until the store answers again. DecideAtMost and Peek return the errors of Decide.
// Every [Decision] of a policy has the Source [SourcePolicy].
//
// The errors of ctx and of invalid requests, such as [ErrExceedsCapacity], do not depend on the
// policy.
type FailurePolicy uint8

const (
	// FailOpen grants each request. The default. Remaining is 0, because the number is unknown.
	FailOpen FailurePolicy = iota
	// FailClosed grants no request. Each one fails with [ErrStore], also in Decide.
	FailClosed
	// LocalShare decides by buckets in the memory of this process. Each has 1 / Config.Replicas of
	// the limit, and at least one token. Set Config.Replicas: with its default of 1, each process
	// grants the whole limit.
	//
	// A request for more tokens than the share can hold fails with [ErrStore]; [Middleware] answers
	// 503. [NewMemoryStore] documents the memory that these buckets use.
	LocalShare

	numPolicies = iota
)

// String returns "fail_open", "fail_closed" or "local_share".
func (p FailurePolicy) String() string {
	return enum.Name("failure_policy", p, "fail_open fail_closed local_share")
}

// MarshalText returns the name of the policy, or an error if p is not a valid policy.
func (p FailurePolicy) MarshalText() ([]byte, error) { return enum.Marshal(p, FailOpen, LocalShare) }

// UnmarshalText sets p to the policy with that name. Any other text is an error and does not
// change p.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, FailOpen, LocalShare)
}

// Config is the configuration of a limiter. Name and Limit are required. For all other fields,
// zero means the default. [New] copies it.
type Config struct {
	// Name labels all telemetry. Required, at most 255 bytes.
	Name string
	// Limit is the limit of each key for which LimitFor has no other. Required.
	Limit Limit
	// LimitFor returns the limit of a key. It is called for each request. If it returns a zero or
	// invalid Limit, Config.Limit applies. Default: none.
	//
	// If it panics, the method that needed the limit panics. The limiter also calls it when it
	// gives back unused tokens in the background. It recovers a panic there, and counts it in
	// [Stats].HookPanics.
	LimitFor func(key string) Limit
	// Store keeps the buckets. Default: a new [NewMemoryStore], for one process.
	Store store.Store
	// OnFailure decides requests while the store fails: [FailurePolicy] lists the results. Default
	// FailOpen.
	OnFailure FailurePolicy
	// Replicas is the number of processes that share the limit, 1 to 1e6. LocalShare and Lease use
	// it. Default 1, which is wrong for LocalShare in more than one process: together they then
	// grant the limit once per process.
	Replicas int
	// StoreTimeout is the time to wait for the store, 1 ms to 1 min. Default 50 ms. A request that
	// shares a store call may wait twice as long: for the call in flight, and for its own.
	//
	// After three failures in a row the store is not called for 250 ms, and after more failures
	// for up to 1 s. OnFailure then decides at once.
	StoreTimeout time.Duration
	// OneByOne makes a store call for each request. By default, requests for one token of a key
	// share a store call while another one is in flight. That does not change the decisions.
	OneByOne bool
	// Lease is the number of tokens per key that are fetched ahead, 0 to 1e9. They serve requests
	// for one token without a store call. Use it for keys that are requested more often than the
	// store can answer. A lease is at most the tokens refilled in 10 ms (or one token), and at
	// most a quarter of Capacity / Replicas. Default 0: no lease.
	//
	// Leased tokens are used later than the store granted them. In any period all processes
	// together use at most Replicas * Lease tokens more than the algorithm grants. While unused
	// tokens are given back it is up to twice that.
	Lease int64
	// LeaseFor is how long leased tokens are kept before unused ones are given back. It also is
	// the longest time for which a denial is cached if Lease is set. 1 ms to 100 ms, default 100
	// ms.
	LeaseFor time.Duration
	// Hooks observe the limiter. Default: the hooks of [SetDefaultHooks] when New is called.
	Hooks Hooks
}

// withDefaults returns a copy with defaults filled in.
func (c Config) withDefaults() Config {
	c.Limit = c.Limit.WithDefaults()
	c.StoreTimeout = check.Default(c.StoreTimeout, defaultTimeout)
	c.LeaseFor = check.Default(c.LeaseFor, maxLeaseFor)
	c.Replicas = check.Default(c.Replicas, 1)
	if c.Hooks.isZero() {
		c.Hooks = DefaultHooks()
	}
	return c
}

// validate returns an error that names each invalid field, its value and its range. The zero value
// of a field with a default is valid.
func (c *Config) validate() error {
	e := check.Errors{Owner: "bucket: Config"}
	e.Name("Name", c.Name)
	e.Want(c.OnFailure < numPolicies, "OnFailure", uint8(c.OnFailure), "FailOpen, FailClosed or LocalShare")
	e.Want(check.Within(c.Replicas, 0, maxReplicas), "Replicas", c.Replicas, "1 to 1e6")
	if c.StoreTimeout != 0 {
		e.Span("StoreTimeout", c.StoreTimeout, minWait, maxTimeout)
	}
	e.Want(check.Within(c.Lease, 0, maxLease) && (c.Lease == 0 || !c.OneByOne), "Lease", c.Lease, "0 to 1e9, and 0 with OneByOne")
	if c.LeaseFor != 0 {
		e.Span("LeaseFor", c.LeaseFor, minWait, maxLeaseFor)
	}
	if c.Limit == (Limit{}) {
		e.Missing("Limit", "a rate, such as bucket.PerSecond(10)")
	} else {
		e.Add(c.Limit.Validate())
	}
	return e.Err()
}
