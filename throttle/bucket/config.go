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
	defaultCalls   = 64
	maxCalls       = 1e6
	minWait        = time.Millisecond
	maxTimeout     = time.Minute
	maxLeaseFor    = 100 * time.Millisecond
	maxLease       = 1e9
	maxReplicas    = 1e6
)

// FailurePolicy is how a limiter decides if the store fails or gives no answer in time. The result
// of a method depends on it. The column FailOpen is for a store that is gone. While a store may
// only be busy, the results are those of LocalShare:
//
//	method               LocalShare                                     FailOpen       FailClosed
//	Take                 nil or *DeniedError                            nil            ErrStore
//	Wait                 waits for local tokens: nil or *DeniedError    nil            ErrStore
//	Decide and DecideN   Allowed true or false                          Allowed        ErrStore
//	Allow                true or false                                  true           false
//	Middleware           serves or 429                                  serves         503
//	Return and Reset     ErrStore                                       ErrStore       ErrStore
//
// ErrStore means an error err for which errors.Is(err, [ErrStore]) is true. Wait returns it too: it
// does not wait until the store answers again. DecideAtMost and Peek return the errors of Decide.
// Every [Decision] of a policy has the Source [SourcePolicy].
//
// The errors of ctx and of invalid requests, such as [ErrExceedsCapacity], do not depend on the
// policy.
type FailurePolicy uint8

const (
	// LocalShare decides by buckets in the memory of this process, with a share of the limit. The
	// default. The share is 1 / Config.Replicas, or what this process took of late: see there. It
	// has at least one token, and never more than the limit.
	//
	// Tokens that the store grants are taken from these buckets too, and no larger part of them is
	// left than of the store's bucket at its last answer. So a process does not use its share in
	// addition to what the store granted shortly before.
	//
	// A request for more tokens than the share can hold fails with [ErrStore]; [Middleware] answers
	// 503. [NewMemoryStore] documents the memory that these buckets use, also while the store
	// answers.
	LocalShare FailurePolicy = iota
	// FailOpen grants each request. There is no limit then. Remaining is 0, because the number is
	// unknown.
	//
	// A store whose answer is late, and that has answered within the last ten Config.StoreTimeout, may
	// only be busy. One late call decides for all its callers, and they may be hundreds. So buckets in
	// memory decide as with LocalShare, with the whole limit as the share. They deny only what the
	// store would deny after its last answer and the grants of this process.
	FailOpen
	// FailClosed grants no request. Each one fails with [ErrStore], also in Decide.
	FailClosed

	numPolicies = iota
)

// String returns "local_share", "fail_open" or "fail_closed".
func (p FailurePolicy) String() string {
	return enum.Name("failure_policy", p, "local_share fail_open fail_closed")
}

// MarshalText returns the name of the policy, or an error if p is not a valid policy.
func (p FailurePolicy) MarshalText() ([]byte, error) { return enum.Marshal(p, LocalShare, FailClosed) }

// UnmarshalText sets p to the policy with that name. Any other text is an error and does not
// change p.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, LocalShare, FailClosed)
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
	// OnFailure decides requests while the store gives no answer, and those that are more than it
	// can answer in time: [FailurePolicy] lists the results. Default LocalShare.
	OnFailure FailurePolicy
	// Replicas is the number of processes that share the limit, 1 to 1e6. LocalShare and Lease use
	// it.
	//
	// Default 0: for Lease that is 1. LocalShare then estimates it from the answers of the store:
	// the tokens that all processes took from the buckets in about the last 10 s, divided by those
	// that this process took. If too few were taken, the estimate is 1, and each process may grant
	// the whole limit.
	Replicas int
	// StoreTimeout is the time to wait for the answer to a store call, 1 ms to 1 min. Default 50 ms. It
	// includes the time to wait for a connection. A request that shares a call first waits for its turn:
	// as long as the store answers other calls, or for one more StoreTimeout if it does not. A request
	// whose context ends sooner waits for 80 % of its time. Then OnFailure decides.
	//
	// While this process waits for a processor, it reads no answer. Then a call has up to four times
	// as long, and that it was late is no failure of the store.
	//
	// After 10 failures in a row, and no answer for two timeouts, the store is not called for 250
	// ms, and after more failures for up to 1 s. OnFailure then decides at once. The first call
	// after a pause is made alone. Parts of a store, such as the nodes of a Redis Cluster, have
	// pauses of their own.
	StoreTimeout time.Duration
	// MaxCalls is the number of store calls in flight at the same time, of each part of the store:
	// 1 to 1e6. Default 64, and never more than the connections of a SQL database. There are fewer
	// while calls take more than three quarters of StoreTimeout, or find no connection. Each call is for
	// up to 128 keys. Requests for up to 8192 more keys wait for their turn. OnFailure decides the
	// others at once; that is no failure of the store.
	//
	// A store of your own that cannot take many keys in one call, or OneByOne, has a call for each
	// request. Then up to 512 requests wait for a call to end, each for half of its time. Such a store
	// answers in time if MaxCalls divided by its answers per second is less than StoreTimeout.
	MaxCalls int
	// OneByOne makes a store call for each request. By default, requests for one token of a key
	// share a store call while another one is in flight. With a store that takes many buckets in
	// one call, such as Redis or a SQL database, requests for different keys do too. That does not
	// change the decisions.
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

func (c Config) withDefaults() Config {
	c.Limit = c.Limit.WithDefaults()
	c.StoreTimeout = check.Default(c.StoreTimeout, defaultTimeout)
	c.LeaseFor = check.Default(c.LeaseFor, maxLeaseFor)
	c.MaxCalls = check.Default(c.MaxCalls, defaultCalls)
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c
}

// validate returns an error that names each invalid field, its value and its range. The zero value
// of a field with a default is valid.
func (c *Config) validate() error {
	e := check.Errors{Owner: "bucket: Config"}
	e.Name("Name", c.Name)
	e.Want(c.OnFailure < numPolicies, "OnFailure", uint8(c.OnFailure), "LocalShare, FailOpen or FailClosed")
	memory, ok := c.Store.(*MemoryStore)
	e.Want(!ok || memory != nil && !memory.start.IsZero(), "Store", "a nil or zero MemoryStore", "one of NewMemoryStore")
	e.Want(check.Within(c.Replicas, 0, maxReplicas), "Replicas", c.Replicas, "1 to 1e6")
	e.Want(check.Within(c.MaxCalls, 0, maxCalls), "MaxCalls", c.MaxCalls, "1 to 1e6")
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
