package backoff

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are functions that a [Responsive] calls when something happens. Any field may be nil, and a
// nil field costs nothing.
//
// Hooks are called synchronously on the caller's goroutine, with no lock held, and must not block.
// They may be called concurrently, and may call the Responsive. If a hook panics, the panic
// propagates to the caller; the state of the Responsive is already consistent.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is called at the end of [New], before New returns.
	Created func(*Responsive)
	// Closed is called once, by [Responsive.Close].
	Closed func(*Responsive)
	// Stepped is called for each step of the delay, by the call that causes it. Delay and Stats
	// cause one if they reset an idle delay.
	Stepped func(StepEvent)
	// Slept is called for each wait that did not end at once, with the context of the waiting call.
	Slept func(context.Context, SleepEvent)
}

// StepEvent is a step of the delay, from one length to another.
type StepEvent struct {
	Responsive *Responsive
	From, To   time.Duration

	steps   uint64 // of the delay, before this one
	changed bool   // there was a step
}

// Up reports whether the step makes the delay longer. It is also true if the delay is the longest
// already and so stays the same.
func (e StepEvent) Up() bool { return e.To >= e.From }

// String describes the step, such as "backoff orders-table: delay up from 1ms to 1.25ms".
func (e StepEvent) String() string {
	direction := "down"
	if e.Up() {
		direction = "up"
	}
	return fmt.Sprintf("backoff %s: delay %s from %v to %v", e.Responsive.Name(), direction, e.From, e.To)
}

// SleepEvent is a wait that has ended.
type SleepEvent struct {
	Responsive *Responsive
	Duration   time.Duration // time waited
	Err        error         // nil, the context's error, or ErrClosed
}

// String describes the wait, such as "backoff orders-table: waited 1s", with the error if it
// failed.
func (e SleepEvent) String() string {
	text := fmt.Sprintf("backoff %s: waited %v", e.Responsive.Name(), e.Duration)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// defaultHooks is the only package-level state of backoff.
var defaultHooks hook.Default[Hooks]

// SetDefaultHooks sets the hooks of every [Responsive] that is created later with a Config without
// Hooks, like [slog.SetDefault]. A Responsive that a library creates is then observed too. Call it
// before they are created: it does not change an existing Responsive.
//
// A Config with Hooks does not use the default hooks. To use both, join them:
//
//	Hooks: backoff.JoinHooks(backoff.DefaultHooks(), own)
func SetDefaultHooks(h Hooks) { defaultHooks.Set(h) }

// DefaultHooks returns the hooks of the last [SetDefaultHooks], or no hooks.
func DefaultHooks() Hooks { return defaultHooks.Get() }

// JoinHooks returns hooks that call each of the given hooks, in order. A field that is nil in all
// of them stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created: hook.Join1(joined.Created, h.Created),
			Closed:  hook.Join1(joined.Closed, h.Closed),
			Stepped: hook.Join1(joined.Stepped, h.Stepped),
			Slept:   hook.Join2(joined.Slept, h.Slept),
		}
	}
	return joined
}
