package retry

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/tuned"
)

var (
	errNil        = errors.New("retry: nil or zero Retrier: make one with New")
	errNoFunction = errors.New("retry: nil function")
)

// A Retrier retries calls to one backend, within one budget. Create one per backend with [New]. All
// methods are safe for concurrent use. Calls of a nil or zero Retrier return an error.
type Retrier struct {
	config   Config
	base     time.Time
	lowest   throttle.Priority
	tuning   tuned.Settings[Tuning, Patch]
	ledger   *ledger
	closed   atomic.Bool
	counters counters
}

// New returns a Retrier. If fields of c are out of range, it returns an error that names each of
// them, its value and its range.
func New(c Config) (*Retrier, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &Retrier{config: c, base: c.Now(), lowest: throttle.MaxPriorities - 1, ledger: newLedger(c.Budget.Window)}
	r.tuning.Init(c.tuning())
	if n := c.Throttle.Priorities(); n > 0 {
		r.lowest = throttle.Priority(n - 1)
	}
	if h := c.Hooks.Created; h != nil {
		h(r)
	}
	return r, nil
}

func (r *Retrier) valid() bool { return r != nil && r.ledger != nil }

// Name returns the name of the Retrier.
func (r *Retrier) Name() string {
	if r == nil {
		return ""
	}
	return r.config.Name
}

// Key returns the key of its throttle in a [throttle.Group], or "".
func (r *Retrier) Key() string {
	if r == nil {
		return ""
	}
	return r.config.Throttle.Key()
}

func (r *Retrier) label() string {
	if key := r.Key(); key != "" {
		return r.Name() + "[" + key + "]"
	}
	return r.Name()
}

// Close ends the telemetry of the Retrier: it calls the Closed hook, and no hooks are called
// afterwards. Calls still work. Close is idempotent and always returns nil.
func (r *Retrier) Close() error {
	if !r.valid() || r.closed.Swap(true) {
		return nil
	}
	if h := r.config.Hooks.Closed; h != nil {
		h(r)
	}
	return nil
}

func (r *Retrier) elapsed() time.Duration { return r.config.Now().Sub(r.base) }

// after returns the priority of a retry whose first attempt has priority p: one lower, at most the
// lowest. A priority that is out of range stays.
func (r *Retrier) after(p throttle.Priority) throttle.Priority {
	if p < 0 || p >= r.lowest {
		return p
	}
	return p + 1
}
