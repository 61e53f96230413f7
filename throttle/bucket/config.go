package bucket

import (
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
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

// FailurePolicy says what holds while the store gives no answer.
type FailurePolicy uint8

const (
	// FailOpen grants what is asked for. The default.
	FailOpen FailurePolicy = iota
	// FailClosed denies it, with [ErrStore].
	FailClosed
	// LocalShare grants it from buckets in memory that have a share of the limit: one of Config.Replicas. What is more than such a bucket has
	// now is denied as by a store; what is more than it ever holds fails with [ErrStore]. These buckets are kept as in
	// [NewMemoryStore].
	LocalShare

	numPolicies = iota
)

// String returns the policy's word: "fail_open", "fail_closed" or "local_share".
func (p FailurePolicy) String() string {
	return enum.Name("failure_policy", p, "fail_open fail_closed local_share")
}

// MarshalText returns the policy's word, and an error if it has none.
func (p FailurePolicy) MarshalText() ([]byte, error) { return enum.Marshal(p, FailOpen, LocalShare) }

// UnmarshalText takes the policy's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, FailOpen, LocalShare)
}

// Config says how a limiter behaves. Every zero field but Name and Limit means its default. [New] copies it.
type Config struct {
	// Name says what is limited. It labels all telemetry. Required, at most 255 bytes.
	Name string
	// Limit is that of every key for which LimitFor has no other. Required.
	Limit Limit
	// LimitFor returns the limit of a key, live: it is asked at each request. The zero Limit, and one that is not valid, mean Limit. If it panics,
	// the panic goes up to whoever asked, or stands in line. Where tokens are given back that nobody needs it is counted in [Stats].HookPanics.
	LimitFor func(key string) Limit
	// Store keeps the buckets. Default a memory store of the limiter's own, for one process. [NewMemoryStore] says what a key costs there,
	// and how long.
	Store store.Store
	// OnFailure says what holds while the store gives no answer. Default FailOpen.
	OnFailure FailurePolicy
	// Replicas is how many processes share the limit, for LocalShare and Lease. Default 1.
	Replicas int
	// StoreTimeout is how long the store is waited for, 1 ms to 1 min. Default 50 ms. Requests that are asked for together may wait twice as long:
	// for the answer to those before, and for their own. A store that has failed three times in a row is left alone for 250 ms, and for up to a
	// second if it fails again; OnFailure decides at once meanwhile.
	StoreTimeout time.Duration
	// OneByOne asks the store for each request by itself. By default requests for one token of a bucket that come while the store is
	// being asked for that bucket are asked for together, which costs no accuracy.
	OneByOne bool
	// Lease is how many tokens of a bucket are fetched ahead at most, up to 1e9, for requests for one token: for buckets that are asked for more
	// often than the store can answer. It is never more than what comes back in 10 ms (or one token), nor than a quarter of Capacity / Replicas.
	// Default 0: none. In any time the whole fleet uses at most Replicas * Lease tokens more than the algorithm grants, because they are
	// used later than they were granted; and twice that while the store takes back what was not used.
	Lease int64
	// LeaseFor is how long such tokens are kept before they are given back, 1 ms to 100 ms, and how long at most the store is not asked about
	// a bucket that was empty. Default 100 ms.
	LeaseFor time.Duration
	// Hooks observe the limiter. Default: the hooks of SetDefaultHooks at the time of New.
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

// validate returns an error that names each invalid field, its value and its range. The zero value of
// a field with a default is valid.
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

// shareOf returns the limit of one of n processes that share it: at least one token, and one token
// per longest period.
func shareOf(l Limit, n int) Limit {
	l.Capacity = max(1, l.Capacity/int64(n))
	if l.Algorithm == Continuous {
		interval := l.Interval()
		l.Refill, l.Period = 1, refill.MaxPeriod
		if interval <= refill.MaxPeriod/time.Duration(n) {
			l.Period = max(refill.MinPeriod, interval*time.Duration(n))
		}
	}
	return l.WithDefaults()
}
