package bucket

import (
	"errors"
	"fmt"
	"time"
)

// Defaults and bounds of Config.
const (
	defaultTimeout = 50 * time.Millisecond
	shortestWait   = time.Millisecond
	longestWait    = time.Minute
	longestName    = 255
	mostReplicas   = 1e6
)

// FailurePolicy says what holds while the store gives no answer.
type FailurePolicy uint8

const (
	// FailOpen grants what is asked for. The default.
	FailOpen FailurePolicy = iota
	// FailClosed denies it, with [ErrStore].
	FailClosed
	// LocalShare grants it from buckets in memory that have a share of the limit: one of Config.Replicas.
	LocalShare

	numPolicies = iota
)

// String returns the policy's word: "fail_open", "fail_closed" or "local_share".
func (p FailurePolicy) String() string {
	return [...]string{"fail_open", "fail_closed", "local_share", "unknown"}[min(p, numPolicies)]
}

// Config says how a limiter behaves. Every zero field but Name and Limit means its default. [New] copies it.
type Config struct {
	// Name says what is limited. It labels all telemetry. Required, at most 255 bytes.
	Name string
	// Limit is that of every key for which LimitFor has no other. Required.
	Limit Limit
	// LimitFor returns the limit of a key, live: it is asked at each request. The zero Limit, and one that is not valid, mean Limit.
	LimitFor func(key string) Limit
	// Store keeps the buckets. Default a memory store of the limiter's own, for one process.
	Store Store
	// OnFailure says what holds while the store gives no answer. Default FailOpen.
	OnFailure FailurePolicy
	// Replicas is how many processes share the limit, for LocalShare. Default 1.
	Replicas int
	// Timeout is how long a request waits for the store, 1 ms to 1 min. Default 50 ms. A memory store needs none.
	Timeout time.Duration
	// OneByOne asks the store for each request by itself. By default requests for one token of a bucket that come while the store is
	// being asked for that bucket are asked for together, which costs no accuracy.
	OneByOne bool
	// Hooks are told what the limiter does.
	Hooks Hooks
}

// withDefaults returns a copy in which no zero means a default any more.
func (c Config) withDefaults() Config {
	c.Limit = c.Limit.WithDefaults()
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	return c
}

// validate returns every fault of a Config whose defaults are filled in, each with field, value and range.
func (c *Config) validate() error {
	var errs []error
	demand := func(good bool, field string, value any, want string) {
		if !good {
			errs = append(errs, fmt.Errorf("bucket: Config.%s is %v: want %s", field, value, want))
		}
	}
	demand(c.Name != "" && len(c.Name) <= longestName, "Name", fmt.Sprintf("%.64q", c.Name), "1 to 255 bytes")
	demand(c.OnFailure < numPolicies, "OnFailure", uint8(c.OnFailure), "FailOpen, FailClosed or LocalShare")
	demand(c.Replicas >= 1 && c.Replicas <= mostReplicas, "Replicas", c.Replicas, "1 to 1e6")
	demand(c.Timeout >= shortestWait && c.Timeout <= longestWait, "Timeout", c.Timeout, "1ms to 1m0s")
	if err := c.Limit.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// share returns the limit of one of n processes that share it: at least one token.
func (l Limit) share(n int) Limit {
	l.Capacity = max(1, l.Capacity/int64(n))
	if l.Algorithm == Continuous {
		l.Period = min(l.Period*time.Duration(n), longestPeriod)
	}
	return l.WithDefaults()
}
