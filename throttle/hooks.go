package throttle

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are told what a throttle does. Any field may be nil, and a nil field costs nothing.
//
// Every hook runs on the goroutine of the call that it tells of, with no lock held, and the caller waits for it: it must not block. It
// may call the throttle. If it panics, the panic goes up to the caller; the throttle's own books are in order by then. Hooks of
// several goroutines run side by side.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is told of a new throttle, at the end of [New], before anyone can call it.
	Created func(*Throttle)
	// Closed is told once, by [Throttle.Close].
	Closed func(*Throttle)
	// Shed is told of every refusal, before the fallback runs; in Shadow, of every refusal that would have been.
	Shed func(context.Context, ShedEvent)
	// Started is told of every admitted call. What it returns is the context that the function gets; nil changes nothing.
	Started func(context.Context, StartEvent) context.Context
	// Finished is told of the end of every started call, once, also if the function panicked or ended its
	// goroutine. It comes last, after the fallback, and gets the context that Started returned. For its sake alone
	// a healthy call reads the clock a second time.
	Finished func(context.Context, FinishEvent)
	// FellBack is told when a fallback has run, before Finished.
	FellBack func(context.Context, FallbackEvent)
}

// StartEvent tells of a call that was admitted.
type StartEvent struct {
	Throttle    *Throttle
	Priority    Priority
	Probability float64 // of being shed, at which the decision was taken
	Shadow      bool    // Enforce would have shed it
}

// ShedEvent tells of a call that was shed.
type ShedEvent struct {
	Throttle    *Throttle
	Priority    Priority
	Probability float64 // of being shed, at which the decision was taken
	Cause       Cause
	Shadow      bool // it went through after all: the throttle is in Shadow
}

// FinishEvent tells of the end of an admitted call.
type FinishEvent struct {
	Throttle *Throttle
	Priority Priority
	Outcome  Outcome
	Fault    Fault         // of the function's error
	Err      error         // what left Do: nil after a fallback that served; ErrPanicked for a panic
	Duration time.Duration // of the function alone
	FellBack bool
	Shadow   bool // Enforce would have shed it: Shadow let it through
}

// FallbackEvent tells of a fallback that ran.
type FallbackEvent struct {
	Throttle *Throttle
	Priority Priority
	Outcome  Outcome // of the call: why the fallback ran
	Err      error   // the fallback's own
}

// Cause says whose rejections made the throttle shed a call, of those that the window holds. If it holds none any more, Own.
type Cause uint8

const (
	// CauseOwn is the cause if mostly the call's own priority was rejected.
	CauseOwn Cause = iota
	// CauseAbove is the cause if mostly higher priorities were, which share the backend.
	CauseAbove

	// NumCauses is the number of causes.
	NumCauses = iota
)

// String returns the cause's word: "own" or "above".
func (c Cause) String() string {
	return enum.Name("cause", c, "own above")
}

// MarshalText returns the cause's word, and an error if it has none.
func (c Cause) MarshalText() ([]byte, error) { return enum.Marshal(c, CauseOwn, CauseAbove) }

// UnmarshalText takes the cause's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (c *Cause) UnmarshalText(text []byte) error {
	return enum.Unmarshal(c, text, CauseOwn, CauseAbove)
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

// JoinHooks returns hooks that tell all of the given ones: each Started gets the context of the one before it, Finished runs in
// reverse order, the others in order. A hook that panics keeps those after it from being told, but for Finished: each runs, because
// it may have something to end. A moment that nobody listens to stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created:  hook.Join1(joined.Created, h.Created),
			Closed:   hook.Join1(joined.Closed, h.Closed),
			Shed:     hook.Join2(joined.Shed, h.Shed),
			Started:  hook.JoinContext(joined.Started, h.Started),
			Finished: hook.JoinReverse(joined.Finished, h.Finished),
			FellBack: hook.Join2(joined.FellBack, h.FellBack),
		}
	}
	return joined
}
