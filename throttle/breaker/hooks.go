package breaker

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are functions that a manager calls when something happens. Any field may be nil; a nil
// field costs nothing. Hooks are called with no lock held and must not block. They may be called
// concurrently.
//
// A panic of Created, Closed or Shed reaches the caller. Changed, Led and Failed are about the
// work of the manager, and run on a goroutine of their own: a panic, or [runtime.Goexit], is counted
// as [HookPanicked], and ends no work.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is called for a new manager at the end of [New].
	Created func(*Manager)
	// Closed is called once, by [Manager.Close].
	Closed func(*Manager)
	// Shed is called for every shed call. In ModeShadow it is called for calls that ModeEnforce
	// would have shed.
	Shed func(context.Context, ShedEvent)
	// Changed is called for every change of a circuit, after the store has confirmed it, at most
	// once in the whole fleet: by the manager that made the change. If the confirmation is lost, no
	// manager calls it. Use Config.Notify for changes that must arrive.
	Changed func(Event)
	// Led is called when the manager becomes the leader, and when it stops being the leader. A
	// manager that works without Run does not call it.
	Led func(LeadEvent)
	// Failed is called for every error of a background task. Calls go on: see [Failure].
	Failed func(FailureEvent)
}

// ShedEvent describes a call that was shed.
type ShedEvent struct {
	Manager *Manager
	Key     Key
	State   State // Closed if the store is stale and FailClosed sheds all calls
	Shadow  bool  // ModeShadow: the call was admitted
}

// String returns the event in one line.
func (e ShedEvent) String() string {
	return fmt.Sprintf("breaker %s shed a call of %s: %s%s", e.Manager.Name(), shownKey(e.Key), e.State, inShadow(e.Shadow))
}

// Event describes a change of a circuit, for hooks and for Config.Notify.
type Event struct {
	Breaker    string
	Key        Key
	From, To   State
	Reason     Reason
	Trips      int       // consecutive, this one included
	Generation uint64    // of the circuit: increases with every change except from open to half-open; begins again at 1, see [Status]
	At         time.Time // by the store's clock
	Failures   float64   // calls that the poll counted
	Successes  float64
	Shadow     bool // changed in ModeShadow, or by hand in ModeOff: blocks no calls of that manager
}

// String returns the event in one line.
func (e Event) String() string {
	return fmt.Sprintf("breaker %s: circuit %s: %s -> %s (%s)%s", e.Breaker, shownKey(e.Key), e.From, e.To, e.Reason, inShadow(e.Shadow))
}

// ID returns the event's idempotency key. It is the same for every notification of the event, and
// different from every other event's, even if the store has lost its data.
func (e Event) ID() string {
	id := e.Key.RecordID()
	return fmt.Sprintf("%x-%d-%d", id[:16], e.Generation, e.At.UnixMicro())
}

// LeadEvent describes a change of leadership.
type LeadEvent struct {
	Manager *Manager
	Leads   bool
	Term    uint64
}

// String returns the event in one line.
func (e LeadEvent) String() string {
	if e.Leads {
		return fmt.Sprintf("breaker %s leads, term %d", e.Manager.Name(), e.Term)
	}
	return fmt.Sprintf("breaker %s no longer leads, term %d", e.Manager.Name(), e.Term)
}

// FailureEvent describes an error of a background task.
type FailureEvent struct {
	Manager *Manager
	Failure Failure
	Err     error
}

// String returns the event in one line.
func (e FailureEvent) String() string {
	return fmt.Sprintf("breaker %s: background task failed (%s): %v", e.Manager.Name(), e.Failure, e.Err)
}

func inShadow(shadow bool) string {
	if shadow {
		return ", shadow"
	}
	return ""
}

// Failure is a kind of error in a background task. Calls do not wait for background tasks and do
// not fail because of them.
type Failure uint8

const (
	// StoreFailed means that the store returned an error or did not answer in time.
	StoreFailed Failure = iota
	// PollFailed means that the poll returned an error, did not answer in time, or panicked.
	PollFailed
	// CountsInvalid means that the poll returned NaN, infinite or negative counts. The circuit was
	// not changed.
	CountsInvalid
	// NotifyFailed means that Config.Notify returned an error, did not return in time, or panicked.
	// It is called again.
	NotifyFailed
	// RecordCorrupt means that a record could not be read. It counts as absent and is replaced.
	RecordCorrupt
	// RecordsLost means that the store has lost records that the manager has read: all of them, or some,
	// as when rows are deleted by hand. The manager writes them back. Use Forget to remove a circuit.
	RecordsLost
	// WriteFenced means that the manager tried to write as leader after another manager had become
	// the leader.
	WriteFenced
	// WriteConflicted means that another manager wrote at the same time. The change was decided and
	// written again.
	WriteConflicted
	// LeaseLost means that the leader could not extend its lease in time, or was granted a lease
	// that had already ended.
	LeaseLost
	// SettingsInvalid means that Config.ForTenant panicked or returned settings that New would
	// reject. The tenant gets the manager's settings.
	SettingsInvalid
	// HookPanicked means that the hook Changed, Led or Failed panicked, or ended its goroutine.
	HookPanicked
	// NotRunning means that the store is shared and Run was never called: see [Stats].NotRunning.
	// It is reported once, two SampleRates after the manager's first call.
	NotRunning

	numFailures = iota
)

// String returns "store", "poll", "counts", "notify", "record", "loss", "fenced", "conflict",
// "lease", "settings", "hook" or "not_running".
func (f Failure) String() string {
	return enum.Name("failure", f, "store poll counts notify record loss fenced conflict lease settings hook not_running")
}

// MarshalText returns the failure's word, or an error if the value is not a Failure.
func (f Failure) MarshalText() ([]byte, error) { return enum.Marshal(f, StoreFailed, NotRunning) }

// UnmarshalText sets the failure from its word. Any other text is an error and changes nothing.
func (f *Failure) UnmarshalText(text []byte) error {
	return enum.Unmarshal(f, text, StoreFailed, NotRunning)
}

// defaultHooks is the only package-level state of breaker.
var defaultHooks hook.Default[Hooks]

// SetDefaultHooks sets the hooks of every manager that is created later with a Config without
// Hooks, like [slog.SetDefault]. A breaker that a library creates is then observed too. Call it
// before managers are created: it does not change existing managers.
//
// A Config with any hook does not use the default hooks. To use both, join them:
//
//	Hooks: breaker.JoinHooks(breaker.DefaultHooks(), own)
func SetDefaultHooks(h Hooks) { defaultHooks.Set(h) }

// DefaultHooks returns the hooks of the last [SetDefaultHooks], or no hooks.
func DefaultHooks() Hooks { return defaultHooks.Get() }

// JoinHooks returns hooks that call all the given hooks in order. A hook that none of them has
// stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: hook.Join1(joined.Created, h.Created),
			Closed:  hook.Join1(joined.Closed, h.Closed),
			Shed:    hook.Join2(joined.Shed, h.Shed),
			Changed: hook.Join1(joined.Changed, h.Changed),
			Led:     hook.Join1(joined.Led, h.Led),
			Failed:  hook.Join1(joined.Failed, h.Failed),
		}
	}
	return joined
}
