package breaker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Defaults and bounds of Config.
const (
	defaultSampleRate        = 5 * time.Second
	defaultBreakerTimeout    = 30 * time.Second
	defaultWindow            = time.Minute
	defaultFailureThreshold  = 70
	defaultSuccessThreshold  = 60
	defaultMinimumRequests   = 10
	defaultProbes            = 10
	defaultMinReporters      = 1
	defaultRefresh           = time.Second
	defaultRetention         = 7 * 24 * time.Hour
	defaultStoreTimeout      = 250 * time.Millisecond
	defaultNotifyTimeout     = 10 * time.Second
	defaultStale             = time.Minute
	resetAfterInTimeouts     = 10 // ConsecutiveResetAfter in BreakerTimeouts
	halfOpenMaxInSampleRates = 4
	staleInSampleRates       = 3 // what a change of the leader may take, and a round

	shortestSpan    = time.Millisecond
	longestSpan     = 30 * 24 * time.Hour
	mostRequests    = 1e9
	mostProbes      = 1e6
	longestName     = 255
	mostConsecutive = 1e6
)

// StalePolicy says what holds when the store has not answered for longer than Config.MaxStale.
type StalePolicy uint8

const (
	// FailOpen lets all calls through, as if there were no breaker.
	FailOpen StalePolicy = iota
	// KeepLast goes on with what was known last: what was disabled stays so, and an open circuit is open until its time is over,
	// and then lets all calls through, because nobody can count probes.
	KeepLast
	// FailClosed refuses all calls, with [ErrStale]; also before the store was read for the first time.
	FailClosed

	numStalePolicies = iota
)

// String returns the policy's word: "fail_open", "keep_last" or "fail_closed".
func (p StalePolicy) String() string {
	return enum.Name("stale_policy", p, "fail_open keep_last fail_closed")
}

// MarshalText returns the policy's word, and an error if it has none.
func (p StalePolicy) MarshalText() ([]byte, error) { return enum.Marshal(p, FailOpen, FailClosed) }

// UnmarshalText takes the policy's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (p *StalePolicy) UnmarshalText(text []byte) error {
	return enum.Unmarshal(p, text, FailOpen, FailClosed)
}

// Config says how a manager behaves. Every zero field but Name means its default. [New] copies it.
type Config struct {
	// Name says what the circuits protect. It labels all telemetry. Required, at most 255 bytes.
	Name string
	// Store is what the agents of a fleet share. Default a memory store of the manager's own, for one process.
	Store store.Store
	// Poll counts how calls ended. Default Counter's. In a fleet it must see the calls of all agents: see sqlstore.Poller.
	Poll PollFunc
	// Counter is told how the calls of this process ended. Default a new one if there is no Poll, else none. With a Store that is shared,
	// one of both is required.
	Counter *Counter
	// Hooks are told what the manager does.
	Hooks Hooks
	// Notify is told of every change but that from open to half-open, at least once, by whoever leads: again and again until it
	// returns nil, also after a restart. [Event.ID] is the same each time. No lock is held meanwhile.
	// Either all agents of a fleet have one, or none: of what a manager without one changes nobody is notified.
	Notify func(ctx context.Context, e Event) error
	// Classify says how a call ended: Accepted is a success, Rejected a failure, Ignored neither. It never sees nil, which is a success,
	// nor an error marked with [throttle.MarkRejected], which is a failure; any other outcome counts as no opinion. Where it
	// has none, and by default, an error is neither that [throttle.DefaultClassify] ignores: a cancelled context, what a throttle, a
	// bucket or a breaker inside shed ([throttle.ErrShed]), and a panic. Every other one is a failure, "not found" too.
	Classify throttle.Classifier
	// ForTenant returns the settings of a tenant, given the manager's, live: it is asked for each tenant with circuits in every round, and at
	// every refresh of every agent, so it must answer at once. Of what it returns count BreakerTimeout to DryRun; the rest is the
	// manager's. Nil gives everyone the same.
	ForTenant func(tenant string, c Config) Config

	// SampleRate is how often the leader polls, 1 ms to 30 days. Default 5 s.
	SampleRate time.Duration
	// ObservabilityWindow is how far back the poll looks, at least twice SampleRate. Default 1 min, or twice SampleRate if that is longer.
	ObservabilityWindow time.Duration
	// Refresh is how often an agent reads what has changed. Default 1 s, or SampleRate if that is shorter.
	Refresh time.Duration
	// MaxStale is for how long an agent goes by what it read last, at least twice Refresh. Default 1 min, or three times SampleRate
	// if that is longer. It is also how long the circuits that a store has lost are remembered.
	MaxStale time.Duration
	// OnStale says what holds after that. Default FailOpen.
	OnStale StalePolicy
	// StoreTimeout is how long anything waits for the store; no call does. Default 250 ms.
	StoreTimeout time.Duration
	// PollTimeout is how long a poll may take. Default SampleRate, and at least a second.
	PollTimeout time.Duration
	// NotifyTimeout is how long a notification may take. Default 10 s.
	NotifyTimeout time.Duration
	// Retention is how long a circuit that is neither disabled nor forced is remembered without calls. Default 7 days; at least twice the longest
	// of ObservabilityWindow, MaxBreakerTimeout and ConsecutiveResetAfter.
	Retention time.Duration

	// BreakerTimeout is how long a circuit stays open. Default 30 s.
	BreakerTimeout time.Duration
	// MaxBreakerTimeout lets that double with each trip in a row, up to this. Default BreakerTimeout: it does not grow.
	MaxBreakerTimeout time.Duration
	// Jitter shortens each stay by a random share of up to this, so that circuits that opened together do not all come back
	// together. 0 to 0.5. Default 0.
	Jitter float64
	// FailureThreshold is the percentage of failed calls from which on a circuit opens, more than 0, at most 100. Default 70.
	FailureThreshold float64
	// SuccessThreshold is the percentage of successful probes from which on a half-open circuit closes. It must be more than
	// 100 - FailureThreshold, or the same results would open and close. Default 60.
	SuccessThreshold float64
	// MinimumRequestCount is how many calls within the window it takes to open a circuit. Default 10.
	MinimumRequestCount int
	// ConsecutiveFailureThreshold disables a circuit at the so many-th trip in a row. Default 0: never, which is right where
	// nobody is there to enable it again.
	ConsecutiveFailureThreshold int
	// ConsecutiveResetAfter is how long a circuit must stay closed, with MinimumRequestCount calls within the window, for its trips to
	// be forgotten. Default 10 times BreakerTimeout.
	ConsecutiveResetAfter time.Duration
	// HalfOpenProbes is how many calls the whole fleet may make to a half-open circuit per SampleRate. As many results decide, or
	// MinimumRequestCount if that is fewer. Default 10: of five results, too many are a matter of luck.
	HalfOpenProbes int
	// HalfOpenMax is how long fewer results than that may leave it undecided, from the first of them on. Then what there is decides, and a
	// draw opens the circuit, as it does after twice as many results. Default the longer of BreakerTimeout and four times SampleRate,
	// at most ObservabilityWindow.
	HalfOpenMax time.Duration
	// MinReporters is how many agents must have seen failures for a circuit to open, if the poll can tell: one agent with a
	// broken network is not everyone's outage. Default 1.
	MinReporters int
	// DryRun decides, counts and tells everything, and lets all calls through. What it has opened or disabled counts for nothing when it ends.
	DryRun bool
}

// withDefaults returns a copy in which no zero means a default any more.
func (c Config) withDefaults() Config {
	c.SampleRate = orDefault(c.SampleRate, defaultSampleRate)
	c.ObservabilityWindow = orDefault(c.ObservabilityWindow, max(defaultWindow, 2*c.SampleRate))
	c.Refresh = orDefault(c.Refresh, min(defaultRefresh, c.SampleRate))
	c.MaxStale = orDefault(c.MaxStale, min(longestSpan, max(defaultStale, staleInSampleRates*c.SampleRate)))
	c.StoreTimeout = orDefault(c.StoreTimeout, defaultStoreTimeout)
	c.PollTimeout = orDefault(c.PollTimeout, max(c.SampleRate, time.Second))
	c.NotifyTimeout = orDefault(c.NotifyTimeout, defaultNotifyTimeout)
	c = c.withCircuitDefaults()
	c.Retention = orDefault(c.Retention, max(defaultRetention, 2*c.longestMemory()))
	return c
}

// withCircuitDefaults fills in what a tenant can have of its own.
func (c Config) withCircuitDefaults() Config {
	c.BreakerTimeout = orDefault(c.BreakerTimeout, defaultBreakerTimeout)
	c.MaxBreakerTimeout = orDefault(c.MaxBreakerTimeout, c.BreakerTimeout)
	c.FailureThreshold = orDefault(c.FailureThreshold, defaultFailureThreshold)
	c.SuccessThreshold = orDefault(c.SuccessThreshold, defaultSuccessThreshold)
	c.MinimumRequestCount = orDefault(c.MinimumRequestCount, defaultMinimumRequests)
	c.ConsecutiveResetAfter = orDefault(c.ConsecutiveResetAfter, min(longestSpan, resetAfterInTimeouts*c.BreakerTimeout))
	c.HalfOpenProbes = orDefault(c.HalfOpenProbes, defaultProbes)
	c.HalfOpenMax = orDefault(c.HalfOpenMax, min(c.ObservabilityWindow, max(c.BreakerTimeout, halfOpenMaxInSampleRates*c.SampleRate)))
	c.MinReporters = orDefault(c.MinReporters, defaultMinReporters)
	return c
}

// longestMemory is the longest time for which the past of a circuit can matter.
func (c *Config) longestMemory() time.Duration {
	return max(c.ObservabilityWindow, c.MaxBreakerTimeout, c.ConsecutiveResetAfter)
}

func orDefault[T int | float64 | time.Duration](value, def T) T {
	if value == 0 {
		return def
	}
	return value
}

// faults collects what is wrong with a Config.
type faults []error

func (f *faults) demand(good bool, field string, value any, want string) {
	if !good {
		*f = append(*f, fmt.Errorf("breaker: Config.%s is %v: want %s", field, value, want))
	}
}

func (f *faults) demandSpan(field string, value, least time.Duration) {
	f.demand(within(value, least, longestSpan), field, value, fmt.Sprintf("%v to %v", least, longestSpan))
}

// validate returns every fault of a Config whose defaults are filled in, each with field, value and range.
func (c *Config) validate() error {
	var f faults
	f.demand(c.Name != "" && len(c.Name) <= longestName, "Name", fmt.Sprintf("%.64q", c.Name), "1 to 255 bytes")
	f.demandSpan("SampleRate", c.SampleRate, shortestSpan)
	f.demandSpan("ObservabilityWindow", c.ObservabilityWindow, 2*c.SampleRate)
	f.demandSpan("Refresh", c.Refresh, shortestSpan)
	f.demandSpan("MaxStale", c.MaxStale, 2*c.Refresh)
	f.demand(c.OnStale < numStalePolicies, "OnStale", uint8(c.OnStale), "FailOpen, KeepLast or FailClosed")
	f.demandSpan("StoreTimeout", c.StoreTimeout, shortestSpan)
	f.demandSpan("PollTimeout", c.PollTimeout, shortestSpan)
	f.demandSpan("NotifyTimeout", c.NotifyTimeout, shortestSpan)
	f.demand(c.Retention >= 2*c.longestMemory(), "Retention", c.Retention,
		fmt.Sprintf("at least %v, twice the longest of ObservabilityWindow, MaxBreakerTimeout and ConsecutiveResetAfter", 2*c.longestMemory()))
	c.demandCircuit(&f)
	return errors.Join(f...)
}

// demandCircuit adds the faults of what a tenant can have of its own.
func (c *Config) demandCircuit(f *faults) {
	f.demandSpan("BreakerTimeout", c.BreakerTimeout, shortestSpan)
	f.demandSpan("MaxBreakerTimeout", c.MaxBreakerTimeout, c.BreakerTimeout)
	f.demand(within(c.Jitter, 0, 0.5), "Jitter", c.Jitter, "0 to 0.5")
	f.demand(within(c.FailureThreshold, math.SmallestNonzeroFloat64, 100), "FailureThreshold", c.FailureThreshold, "more than 0, at most 100 (percent)")
	f.demand(c.SuccessThreshold > 100-c.FailureThreshold && c.SuccessThreshold <= 100, "SuccessThreshold", c.SuccessThreshold,
		fmt.Sprintf("more than 100 - FailureThreshold = %v, at most 100 (percent): else results that open a circuit would close it as well, "+
			"and one that fails could never be disabled", 100-c.FailureThreshold))
	f.demand(within(c.MinimumRequestCount, 1, mostRequests), "MinimumRequestCount", c.MinimumRequestCount, "1 to 1e9")
	f.demand(within(c.ConsecutiveFailureThreshold, 0, mostConsecutive), "ConsecutiveFailureThreshold", c.ConsecutiveFailureThreshold, "0 (never) to 1e6")
	f.demandSpan("ConsecutiveResetAfter", c.ConsecutiveResetAfter, shortestSpan)
	f.demand(c.ConsecutiveFailureThreshold == 0 || c.ConsecutiveResetAfter > c.SampleRate, "ConsecutiveResetAfter", c.ConsecutiveResetAfter,
		fmt.Sprintf("more than SampleRate = %v: else trips are forgotten before the next can follow, and no circuit is ever disabled", c.SampleRate))
	f.demand(within(c.HalfOpenProbes, 1, mostProbes), "HalfOpenProbes", c.HalfOpenProbes, "1 to 1e6")
	f.demand(within(c.HalfOpenMax, c.SampleRate, c.ObservabilityWindow), "HalfOpenMax", c.HalfOpenMax,
		fmt.Sprintf("%v to %v, SampleRate to ObservabilityWindow: results that the poll has forgotten decide nothing", c.SampleRate, c.ObservabilityWindow))
	f.demand(within(c.MinReporters, 1, mostRequests), "MinReporters", c.MinReporters, "1 to 1e9")
}

// within reports whether lowest <= value <= highest, which no NaN is.
func within[T int | float64 | time.Duration](value, lowest, highest T) bool {
	return value >= lowest && value <= highest
}
