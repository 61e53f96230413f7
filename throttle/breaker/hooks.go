package breaker

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Hooks are told what a manager does. Any field may be nil, and a nil field costs nothing. Hooks run with no lock held and must
// not block; hooks of several goroutines run side by side.
//
// Created, Closed and Shed run on the goroutine of whoever called New, Close or the circuit, where a panic goes up. Changed, Led and Failed run on
// the goroutine of whoever made the change or met the failure: mostly one of Run's, but also a caller's, after ForceOpen or Sample. A
// panic in them ends nobody's work: it counts as [HookPanicked].
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is told of a new manager, at the end of [New], before anyone can call it.
	Created func(*Manager)
	// Closed is told once, by [Manager.Close].
	Closed func(*Manager)
	// Shed is told of every call that was shed; in DryRun, of every one that would have been.
	Shed func(context.Context, ShedEvent)
	// Changed is told of every change of a circuit, at most once in the whole fleet: by the manager that made it, when the store has said
	// that it has it. If that answer is lost, nobody tells; Config.Notify is for those who must hear.
	Changed func(Event)
	// Led is told when the manager becomes the leader, and when it is no longer.
	Led func(LeadEvent)
	// Failed is told of everything that went wrong beside the calls, which never notice: see Failure.
	Failed func(FailureEvent)
}

// ShedEvent tells of a call that was shed.
type ShedEvent struct {
	Manager *Manager
	Key     Key
	State   State // Closed if nothing is known, and FailClosed refuses all
	DryRun  bool  // it went through after all
}

// Event tells of a change of a circuit, to hooks and to the notifier.
type Event struct {
	Breaker    string
	Key        Key
	From, To   State
	Reason     Reason
	Trips      int       // in a row, with this one
	Generation uint64    // of the circuit: rises with every change but that from open to half-open
	At         time.Time // by the store's clock
	Failures   float64   // that were polled
	Successes  float64
	DryRun     bool // calls go through in spite of it
}

// LeadEvent tells of a change of the leader.
type LeadEvent struct {
	Manager *Manager
	Leads   bool
	Term    uint64
}

// FailureEvent tells what went wrong.
type FailureEvent struct {
	Manager *Manager
	Failure Failure
	Err     error
}

// Failure is a kind of thing that goes wrong beside the calls.
type Failure uint8

const (
	// StoreFailed means that the store gave an error or no answer in time.
	StoreFailed Failure = iota
	// PollFailed means that the poll gave an error, no answer in time, or panicked.
	PollFailed
	// CountsInvalid means that the poll returned counts that are none: NaN, infinite or negative. The circuit is left as it was.
	CountsInvalid
	// NotifyFailed means that the notifier gave an error, no answer in time, or panicked. It will be called again.
	NotifyFailed
	// RecordCorrupt means that a record could not be read. It counts as absent, and will be replaced.
	RecordCorrupt
	// RecordsLost means that the store has lost records that the manager knew: with all else, or alone, as when somebody deletes rows. It gives
	// them back. To remove a circuit there is Forget.
	RecordsLost
	// WriteFenced means that the manager tried to write as a leader, when another one led already.
	WriteFenced
	// WriteConflicted means that somebody else wrote at the same time. The change was thought over and tried again.
	WriteConflicted
	// LeaseLost means that the leader could not extend its lease in time, or was granted one that was over already.
	LeaseLost
	// SettingsInvalid means that Config.ForTenant returned settings that New would refuse. The manager's own hold instead.
	SettingsInvalid
	// HookPanicked means that the hook Changed, Led or Failed panicked. What it was told of stands.
	HookPanicked

	// NumFailures is the number of kinds.
	NumFailures = iota
)

// String returns the failure's word: "store", "poll", "counts", "notify", "record", "loss", "fenced", "conflict", "lease",
// "settings" or "hook".
func (f Failure) String() string {
	return enum.Name("failure", f, "store poll counts notify record loss fenced conflict lease settings hook")
}

// MarshalText returns the failure's word, and an error if it has none.
func (f Failure) MarshalText() ([]byte, error) { return enum.Marshal(f, StoreFailed, HookPanicked) }

// UnmarshalText takes the failure's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (f *Failure) UnmarshalText(text []byte) error {
	return enum.Unmarshal(f, text, StoreFailed, HookPanicked)
}

// ID is the event's idempotency key: the same whenever it is told, and nobody else's, not even after the store has lost everything.
func (e Event) ID() string {
	id := e.Key.RecordID()
	return fmt.Sprintf("%x-%d-%d", id[:16], e.Generation, e.At.UnixMicro())
}
