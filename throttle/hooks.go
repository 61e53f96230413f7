package throttle

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are functions that a throttle calls. Any field may be nil; a nil field costs nothing.
//
// Hooks are called synchronously on the caller's goroutine, with no lock held, and must not block.
// Hooks of different calls run concurrently. A hook may call the throttle. If a hook panics, the
// panic reaches the caller; the throttle's counters are correct then.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Announced is called by code that makes throttles on first use, such as a client with one per
	// host, with the name that they will have. See [Config.Announce].
	Announced func(name string)
	// Created is called at the end of [New], before New returns the throttle.
	Created func(*Throttle)
	// Closed is called once, by [Throttle.Close].
	Closed func(*Throttle)
	// Shed is called for every shed call, before the fallback runs. In ModeShadow it is called for
	// every call that ModeEnforce would shed.
	Shed func(context.Context, ShedEvent)
	// Started is called for every admitted call. The function gets the context that Started
	// returns. A nil context changes nothing.
	Started func(context.Context, StartEvent) context.Context
	// Finished is called once for every started call, after the fallback, also if the function
	// panicked or called runtime.Goexit. It gets the context that Started returned. With Finished
	// set, every call reads the clock twice.
	Finished func(context.Context, FinishEvent)
	// FellBack is called after a fallback has returned, before Finished.
	FellBack func(context.Context, FallbackEvent)
	// PolicyChanged is called when [Tiered] begins or ends an alert: by a call, or by [Throttle.Tune].
	// If no calls come, an alert ends after a window, and a later call calls PolicyChanged.
	PolicyChanged func(context.Context, PolicyEvent)
}

// StartEvent describes a call that was admitted.
type StartEvent struct {
	Throttle    *Throttle
	Priority    Priority
	Probability float64 // of shedding, which the decision used
	Shadow      bool    // ModeEnforce would have shed it
}

// ShedEvent describes a call that was shed, or in ModeShadow one that ModeEnforce would have shed.
type ShedEvent struct {
	Throttle    *Throttle
	Priority    Priority
	Probability float64 // of shedding, which the decision used
	Cause       Cause
	Shadow      bool // ModeShadow: the call was not shed
	Tenant      bool // the tenant of the call takes more than its share: see [WithTenant]
}

// FinishEvent describes the end of an admitted call.
type FinishEvent struct {
	Throttle *Throttle
	Priority Priority
	Outcome  Outcome
	Fault    Fault         // of the function's error
	Err      error         // what Do returns: nil after a fallback that returned nil; ErrPanicked for a panic
	Duration time.Duration // of the function, without the fallback
	FellBack bool          // a fallback ran
	Shadow   bool          // ModeShadow let the call through; ModeEnforce would have shed it
	// Overloaded is true if the outcome is Rejected and the backend is full: see [MarkOverloaded].
	Overloaded bool
}

// FallbackEvent describes a fallback that has returned.
type FallbackEvent struct {
	Throttle *Throttle
	Priority Priority
	Outcome  Outcome // of the call
	Err      error   // of the fallback
}

// String returns the event in one line.
func (e StartEvent) String() string {
	return describe("admitted", e.Throttle, e.Priority, " probability=%.3g%s", e.Probability, ifSet(e.Shadow, " shadow"))
}

// String returns the event in one line.
func (e ShedEvent) String() string {
	return describe("shed", e.Throttle, e.Priority, " probability=%.3g cause=%v%s%s", e.Probability, e.Cause,
		ifSet(e.Tenant, " tenant"), ifSet(e.Shadow, " shadow"))
}

// String returns the event in one line.
func (e FinishEvent) String() string {
	return describe(e.Outcome.String(), e.Throttle, e.Priority, " fault=%v duration=%v%s%s%s",
		e.Fault, e.Duration, ifSet(e.Overloaded, " overloaded"), ifSet(e.FellBack, " fallback"), ifSet(e.Shadow, " shadow"))
}

// String returns the event in one line.
func (e FallbackEvent) String() string {
	return describe("fallback", e.Throttle, e.Priority, " outcome=%v error=%v", e.Outcome, e.Err)
}

// describe returns what happened to a call of a throttle, then the formatted details.
func describe(what string, t *Throttle, p Priority, format string, details ...any) string {
	return fmt.Sprintf("%s: %s %v call", fullName(t), what, p) + fmt.Sprintf(format, details...)
}

func fullName(t *Throttle) string {
	if t.Key() == "" {
		return t.Name()
	}
	return t.Name() + "[" + t.Key() + "]"
}

func ifSet(set bool, word string) string {
	if set {
		return word
	}
	return ""
}

// defaultHooks is the only package-level state of throttle.
var defaultHooks hook.Default[Hooks]

// SetDefaultHooks sets the hooks of every throttle that is created later with a Config without
// Hooks, like [slog.SetDefault]. A throttle that a library creates is then observed too. Call it
// before throttles are created: it does not change existing throttles.
//
// A Config with Hooks does not use the default hooks. To use both, join them:
//
//	Hooks: throttle.JoinHooks(throttle.DefaultHooks(), own)
func SetDefaultHooks(h Hooks) { defaultHooks.Set(h) }

// DefaultHooks returns the hooks of the last [SetDefaultHooks], or no hooks.
func DefaultHooks() Hooks { return defaultHooks.Get() }

// JoinHooks returns hooks that call all of the given ones. Started hooks run in order, each with
// the context of the one before. Finished hooks run in reverse order. The others run in order. If a
// hook panics, later hooks of the same event are not called, except Finished hooks, which all run.
// A field that is nil in all hooks stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Announced: hook.Join1(joined.Announced, h.Announced),

			Created:  hook.Join1(joined.Created, h.Created),
			Closed:   hook.Join1(joined.Closed, h.Closed),
			Shed:     hook.Join2(joined.Shed, h.Shed),
			Started:  hook.JoinContext(joined.Started, h.Started),
			Finished: hook.JoinReverse(joined.Finished, h.Finished),
			FellBack: hook.Join2(joined.FellBack, h.FellBack),

			PolicyChanged: hook.Join2(joined.PolicyChanged, h.PolicyChanged),
		}
	}
	return joined
}
