package breaker

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Bounds of Config.
const (
	minSpan        = time.Millisecond
	maxSpan        = 30 * 24 * time.Hour
	maxRequests    = 1e9
	maxProbes      = 1e6
	maxConsecutive = 1e6
)

// Config configures a manager. Only Name is required; a zero field means its default. [New] copies
// the Config.
type Config struct {
	// Name is the name of the breaker in errors, logs and telemetry. Required, at most 255 bytes.
	Name string
	// Store is the store that the managers of a fleet share. Default a [MemoryStore] of the
	// manager's own, for one process.
	Store store.Store
	// Poll counts how calls ended. Only the leader calls it, so in a fleet it should see the calls
	// of all managers: see sqlstore.Poller. Default Counter's Poll.
	Poll PollFunc
	// Counter counts how the calls of this process ended. Default a new one if Poll is nil, else
	// none.
	//
	// With a shared Store, New returns an error if both Poll and Counter are nil. A Counter without
	// a Poll counts the calls of the leader's process only: other processes' failures open no
	// circuit.
	Counter *Counter
	// Hooks are called when something happens. A Config without any hook uses the hooks of
	// [SetDefaultHooks].
	Hooks Hooks
	// Notify is called for every change of a circuit except from open to half-open, at least once
	// in the whole fleet. The leader repeats the call until it returns nil, also after a restart.
	// [Event.ID] is the same for each repetition. Notify runs without any lock held.
	//
	// Set it on all managers of a fleet or on none: a change that a manager without Notify makes is
	// not notified.
	Notify func(ctx context.Context, e Event) error
	// Classify decides how a call ended: Accepted is a success, Rejected or Overloaded a failure, Ignored
	// neither. It is not called for nil, which is a success, and not for an error marked with
	// [throttle.MarkRejected], which is a failure. For any other outcome, and without Classify:
	//
	//   - An error that [throttle.DefaultClassify] ignores counts neither way: a cancelled context,
	//     a call that a throttle, breaker, bucket or backoff shed ([throttle.ErrShed]), a panic.
	//   - Every other error is a failure, "not found" included. A throttle is different: it counts
	//     such errors as Accepted. For errors that show a working endpoint, use [throttle.AcceptIf]
	//     here.
	Classify throttle.Classifier
	// ForTenant returns the settings of a tenant. It receives the manager's Config. The manager
	// uses BreakerTimeout to Mode of the result and ignores its other fields. ForTenant is called
	// for each tenant with circuits, in every round and at every refresh, so it must return at
	// once. It is called with "" for keys without a tenant. While the store is stale, OnStale
	// applies to every tenant, and FailClosed uses the manager's own Mode. Default nil: all tenants
	// have the manager's settings.
	ForTenant func(tenant string, c Config) Config

	// SampleRate is the interval of the leader's rounds, in which it polls and decides. 1 ms to 15
	// days. Default 5 s.
	SampleRate time.Duration
	// ObservabilityWindow is how far back a poll counts, at least twice SampleRate. Default 1 min,
	// or twice SampleRate if that is longer.
	ObservabilityWindow time.Duration
	// Refresh is the interval at which a manager reads changes from the store. Default 1 s, or
	// SampleRate if that is shorter.
	Refresh time.Duration
	// MaxStale is how long a manager uses its last reading of the store, at least twice Refresh.
	// Default 1 min, or three times SampleRate if that is longer. It is also how long circuits that
	// a store has lost are remembered.
	MaxStale time.Duration
	// OnStale is what the manager does after MaxStale. Default FailOpen.
	OnStale StalePolicy
	// StoreTimeout limits every wait for the store. Calls never wait for the store. Default 250 ms.
	StoreTimeout time.Duration
	// PollTimeout limits a poll. Default SampleRate, and at least 1 s.
	PollTimeout time.Duration
	// NotifyTimeout limits one call of Notify. Default 10 s.
	NotifyTimeout time.Duration
	// Retention is how long a circuit without calls is remembered, unless it is disabled or forced.
	// Default 7 days; at least twice the longest of ObservabilityWindow, MaxBreakerTimeout and
	// ConsecutiveResetAfter.
	Retention time.Duration

	// BreakerTimeout is how long a circuit stays open. Default 30 s.
	BreakerTimeout time.Duration
	// MaxBreakerTimeout is the limit to which BreakerTimeout doubles with each consecutive trip.
	// Default BreakerTimeout: it does not grow.
	MaxBreakerTimeout time.Duration
	// Jitter is the largest random share by which a circuit's open time is shortened, so that
	// circuits that opened together do not all probe together. 0 to 0.5. Default 0.
	Jitter float64
	// FailureThreshold is the percentage of failed calls at which a circuit opens, more than 0, at
	// most 100. Default 70.
	FailureThreshold float64
	// SuccessThreshold is the percentage of successful probes at which a half-open circuit closes.
	// It must be more than 100 - FailureThreshold: otherwise the same results would open and close
	// a circuit. Default 60.
	SuccessThreshold float64
	// MinimumRequestCount is the fewest calls within the window that can open a circuit. Default 10.
	MinimumRequestCount int
	// ConsecutiveFailureThreshold disables a circuit after this many consecutive trips. Default 0:
	// never. Set it only if someone can enable circuits again.
	ConsecutiveFailureThreshold int
	// ConsecutiveResetAfter is how long a circuit must stay closed until its trips are forgotten.
	// Its window must hold MinimumRequestCount calls then. Default 10 times BreakerTimeout.
	ConsecutiveResetAfter time.Duration
	// HalfOpenProbes is how many calls the whole fleet may make to a half-open circuit per
	// SampleRate. The circuit is decided after as many results, or after MinimumRequestCount if
	// that is fewer. Default 10: with fewer, chance decides too often.
	HalfOpenProbes int
	// HalfOpenMax is how long a half-open circuit may wait for these results, from the first one.
	// After that, the results so far decide. If they are between both thresholds, the circuit opens
	// again. It also opens if twice as many results are between the thresholds. Default the longer
	// of BreakerTimeout and four times SampleRate, at most ObservabilityWindow.
	HalfOpenMax time.Duration
	// MinReporters is how many managers must have seen failures before a circuit opens. With more
	// than 1, one machine with a broken network does not open circuits for the fleet. It applies
	// only if the poll returns Reporters. Default 1.
	MinReporters int
	// Mode is what the manager does with its decisions. Default ModeEnforce.
	//
	//   - ModeShadow is a dry run: it decides, counts and reports everything, but lets all calls
	//     through. Circuits that opened or were disabled by it are forgotten under ModeEnforce.
	//   - ModeOff is a kill switch: it decides nothing and lets all calls through. Calls are still
	//     counted. Circuits keep their states for the time after.
	//
	// Both also let calls to forced and disabled circuits through.
	//
	// A manager uses its own Mode for its calls. The leader's Mode decides whether circuits open
	// and close: give all managers of a fleet the same one.
	//
	// [Manager.Tune] changes it at run time. ForTenant may return another one for a tenant. Such a
	// change applies within one Refresh. Without Run it applies at the next round, which a call starts.
	Mode throttle.Mode
}

// withDefaults returns a copy with defaults. An invalid SampleRate is replaced by the default too, and so
// is BreakerTimeout: validate reports them as they were given, and checks the other fields against that.
func (c Config) withDefaults() Config {
	if !check.Within(c.SampleRate, minSpan, maxSpan/2) {
		c.SampleRate = 5 * time.Second
	}
	c.ObservabilityWindow = check.Default(c.ObservabilityWindow, max(time.Minute, 2*c.SampleRate))
	c.Refresh = check.Default(c.Refresh, min(time.Second, c.SampleRate))
	c.MaxStale = check.Default(c.MaxStale, min(maxSpan, max(time.Minute, 3*c.SampleRate))) // long enough for a change of the leader and one round
	c.StoreTimeout = check.Default(c.StoreTimeout, 250*time.Millisecond)
	c.PollTimeout = check.Default(c.PollTimeout, max(c.SampleRate, time.Second))
	c.NotifyTimeout = check.Default(c.NotifyTimeout, 10*time.Second)
	c = c.withCircuitDefaults()
	c.Retention = check.Default(c.Retention, max(7*24*time.Hour, 2*c.longestMemory()))
	return c
}

// withCircuitDefaults returns a copy with the defaults of the fields that a tenant may set.
func (c Config) withCircuitDefaults() Config {
	if !check.Within(c.BreakerTimeout, minSpan, maxSpan) {
		c.BreakerTimeout = 30 * time.Second
	}
	c.MaxBreakerTimeout = check.Default(c.MaxBreakerTimeout, c.BreakerTimeout)
	c.FailureThreshold = check.Default(c.FailureThreshold, 70)
	c.SuccessThreshold = check.Default(c.SuccessThreshold, 60)
	c.MinimumRequestCount = check.Default(c.MinimumRequestCount, 10)
	c.ConsecutiveResetAfter = check.Default(c.ConsecutiveResetAfter, min(maxSpan, 10*c.BreakerTimeout))
	c.HalfOpenProbes = check.Default(c.HalfOpenProbes, 10)
	c.HalfOpenMax = check.Default(c.HalfOpenMax, min(c.ObservabilityWindow, max(c.BreakerTimeout, 4*c.SampleRate)))
	c.MinReporters = check.Default(c.MinReporters, 1)
	return c
}

// longestMemory returns the longest time for which the past of a circuit can matter.
func (c *Config) longestMemory() time.Duration {
	return max(c.ObservabilityWindow, c.MaxBreakerTimeout, c.ConsecutiveResetAfter)
}

// complete returns a copy with defaults, hooks, a store and a poll, or an error for every invalid
// field.
func (c Config) complete() (Config, error) {
	given := c
	c = c.withDefaults()
	v := newValidator(&given)
	c.validate(v)
	memory, ok := c.Store.(*MemoryStore)
	v.Want(!ok || memory != nil && memory.probes != nil, "Store", "a nil or zero MemoryStore", "one of NewMemoryStore")
	v.Want(c.Counter == nil || c.Counter.span > 0, "Counter", "a zero Counter", "one of NewCounter")
	if c.Counter == nil && c.Poll == nil {
		if c.Store != nil && !ok { // the store may be shared with other processes
			v.Missing("Poll", "a poll that sees the calls of all managers, such as sqlstore.Poller, because Store is shared; or a Counter, if the calls of the leader are enough")
		}
		c.Counter = NewCounter(c.ObservabilityWindow)
	}
	if c.Poll == nil {
		v.Want(c.Counter.span == c.ObservabilityWindow, "Counter", fmt.Sprintf("a counter of %v", c.Counter.span),
			fmt.Sprintf("one of ObservabilityWindow = %v", c.ObservabilityWindow))
		c.Poll = c.Counter.Poll
	}
	if c.Store == nil {
		c.Store = NewMemoryStore()
	}
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c, v.Err()
}

// validator collects the invalid fields of a Config. It reports a field only if the caller has set it:
// a default that does not fit is reported as an error of the field that it depends on.
type validator struct {
	check.Errors
	given *Config
}

func newValidator(given *Config) *validator {
	return &validator{Errors: check.Errors{Owner: "breaker: Config"}, given: given}
}

// span records an error if value is set and not within lowest and longestSpan.
func (v *validator) span(field string, given, value, lowest time.Duration) {
	if given != 0 {
		v.Span(field, value, lowest, maxSpan)
	}
}

// validate checks all fields. The defaults of c are filled in.
func (c *Config) validate(v *validator) {
	given := v.given
	v.Name("Name", c.Name)
	v.Span("SampleRate", check.Default(given.SampleRate, c.SampleRate), minSpan, maxSpan/2)
	v.span("ObservabilityWindow", given.ObservabilityWindow, c.ObservabilityWindow, 2*c.SampleRate)
	v.span("Refresh", given.Refresh, c.Refresh, minSpan)
	if given.MaxStale != 0 {
		v.Span("MaxStale", c.MaxStale, 2*c.Refresh, maxSpan)
	} else {
		v.Want(given.Refresh == 0 || c.Refresh <= c.MaxStale/2, "Refresh", c.Refresh,
			fmt.Sprintf("at most %v, half of the default of MaxStale", c.MaxStale/2))
	}
	v.Want(c.OnStale < numStalePolicies, "OnStale", uint8(c.OnStale), "FailOpen, KeepLast or FailClosed")
	v.span("StoreTimeout", given.StoreTimeout, c.StoreTimeout, minSpan)
	v.span("PollTimeout", given.PollTimeout, c.PollTimeout, minSpan)
	v.span("NotifyTimeout", given.NotifyTimeout, c.NotifyTimeout, minSpan)
	v.Want(c.Retention >= 2*c.longestMemory(), "Retention", c.Retention,
		fmt.Sprintf("at least %v, twice the longest of ObservabilityWindow, MaxBreakerTimeout and ConsecutiveResetAfter", 2*c.longestMemory()))
	c.validateCircuit(v)
}

// validateCircuit checks the fields that a tenant may set.
func (c *Config) validateCircuit(v *validator) {
	v.span("BreakerTimeout", v.given.BreakerTimeout, v.given.BreakerTimeout, minSpan)
	v.span("MaxBreakerTimeout", v.given.MaxBreakerTimeout, c.MaxBreakerTimeout, c.BreakerTimeout)
	v.Want(check.Within(c.Jitter, 0, 0.5), "Jitter", c.Jitter, "0 to 0.5")
	c.validateThresholds(v)
	v.Want(check.Within(c.MinimumRequestCount, 1, maxRequests), "MinimumRequestCount", c.MinimumRequestCount, "1 to 1e9")
	v.Want(check.Within(c.ConsecutiveFailureThreshold, 0, maxConsecutive), "ConsecutiveFailureThreshold", c.ConsecutiveFailureThreshold, "0 (never) to 1e6")
	c.validateReset(v)
	v.Want(check.Within(c.HalfOpenProbes, 1, maxProbes), "HalfOpenProbes", c.HalfOpenProbes, "1 to 1e6")
	v.Want(v.given.HalfOpenMax == 0 || check.Within(c.HalfOpenMax, c.SampleRate, c.ObservabilityWindow), "HalfOpenMax", c.HalfOpenMax,
		fmt.Sprintf("%v to %v, SampleRate to ObservabilityWindow: a poll counts no older results", c.SampleRate, c.ObservabilityWindow))
	v.Want(check.Within(c.MinReporters, 1, maxRequests), "MinReporters", c.MinReporters, "1 to 1e9")
	v.Want(c.Mode <= throttle.ModeOff, "Mode", uint8(c.Mode), "ModeEnforce, ModeShadow or ModeOff")
}

func (c *Config) validateThresholds(v *validator) {
	const why = "otherwise the same results would open and close a circuit"
	if !check.Within(c.FailureThreshold, math.SmallestNonzeroFloat64, 100) {
		v.Want(false, "FailureThreshold", c.FailureThreshold, "more than 0, at most 100 (percent)")
		return
	}
	lowest := 100 - c.FailureThreshold
	if v.given.SuccessThreshold != 0 {
		v.Want(c.SuccessThreshold > lowest && c.SuccessThreshold <= 100, "SuccessThreshold", c.SuccessThreshold,
			fmt.Sprintf("more than 100 - FailureThreshold = %v, at most 100 (percent): %s", lowest, why))
		return
	}
	v.Want(c.SuccessThreshold > lowest, "FailureThreshold", c.FailureThreshold,
		fmt.Sprintf("more than %v, or a SuccessThreshold of more than %v in place of its default %v: %s", 100-c.SuccessThreshold, lowest, c.SuccessThreshold, why))
}

func (c *Config) validateReset(v *validator) {
	const why = "otherwise trips are forgotten before the next one, and no circuit is ever disabled"
	tooShort := c.ConsecutiveFailureThreshold > 0 && c.ConsecutiveResetAfter <= c.SampleRate
	if v.given.ConsecutiveResetAfter != 0 {
		v.span("ConsecutiveResetAfter", c.ConsecutiveResetAfter, c.ConsecutiveResetAfter, minSpan)
		v.Want(!tooShort, "ConsecutiveResetAfter", c.ConsecutiveResetAfter, fmt.Sprintf("more than SampleRate = %v: %s", c.SampleRate, why))
		return
	}
	v.Want(!tooShort, "ConsecutiveFailureThreshold", c.ConsecutiveFailureThreshold,
		fmt.Sprintf("a ConsecutiveResetAfter of more than SampleRate = %v in place of its default %v: %s", c.SampleRate, c.ConsecutiveResetAfter, why))
}
