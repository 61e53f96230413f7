package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are functions that a [Retrier] calls when something happens. Any field may be nil, and a
// nil field costs nothing. No hook is called for a call that ends with its first attempt and an
// accepted outcome.
//
// Hooks are called synchronously on the caller's goroutine, with no lock held, and must not block.
// Retried of a hedge is called on the goroutine of the hedge. Hooks may be called concurrently, and
// may call the Retrier. If a hook panics, the panic reaches the caller.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Announced is called by [NewGroup] with the Name of its Config, if it has one: Retriers of that
	// name are made later.
	Announced func(name string)
	// Created is called at the end of [New], before New returns.
	Created func(*Retrier)
	// Closed is called once, by [Retrier.Close].
	Closed func(*Retrier)
	// Retried is called for each retry that the throttle admitted, before it is sent.
	Retried func(context.Context, SentEvent)
	// Denied is called for each failed call that is not retried, or not again.
	Denied func(context.Context, DenyEvent)
	// Arrived is called by the server side of httpthrottle and grpcthrottle for each request that
	// its sender marks as a retry.
	Arrived func(context.Context, ArrivalEvent)
}

// SentEvent is a retry that the throttle admitted.
type SentEvent struct {
	Retrier *Retrier
	Attempt int           // number of the attempt, at least 2
	Delay   time.Duration // before it; for a hedge, since the first attempt was sent
	Err     error         // of the attempt before; nil for a hedge
	Hedge   bool          // it is made beside the attempt before: see [Hedge]
}

// DenyEvent is a failed call that is not retried.
type DenyEvent struct {
	Retrier *Retrier
	Attempt int // number of the attempt that was not made
	Reason  Reason
	Err     error // of the attempt before; that of the throttle if it shed the first attempt
}

// ArrivalEvent is a retry that a server received.
type ArrivalEvent struct {
	Name    string // of the server's throttle
	Attempt int    // number of the attempt, at least 2
}

// String describes the retry, such as "retry orders: attempt 2 after 20ms" or "retry orders: hedge
// after 20ms".
func (e SentEvent) String() string {
	if e.Hedge {
		return fmt.Sprintf("retry %s: hedge after %v", e.Retrier.label(), e.Delay)
	}
	return fmt.Sprintf("retry %s: attempt %d after %v", e.Retrier.label(), e.Attempt, e.Delay)
}

// String describes the denial, such as "retry orders: no attempt 2: budget".
func (e DenyEvent) String() string {
	return fmt.Sprintf("retry %s: no attempt %d: %v", e.Retrier.label(), e.Attempt, e.Reason)
}

// String describes the arrival, such as "retry shop: attempt 2 arrived".
func (e ArrivalEvent) String() string {
	return fmt.Sprintf("retry %s: attempt %d arrived", e.Name, e.Attempt)
}

// defaultHooks is the only package-level state of retry.
var defaultHooks hook.Default[Hooks]

// SetDefaultHooks sets the hooks of every [Retrier] that is created later with a Config without
// Hooks, and of servers, like [slog.SetDefault]. Call it before they are created: it does not
// change existing ones.
//
// A Config with Hooks does not use the default hooks. To use both, join them:
//
//	Hooks: retry.JoinHooks(retry.DefaultHooks(), own)
func SetDefaultHooks(h Hooks) { defaultHooks.Set(h) }

// DefaultHooks returns the hooks of the last [SetDefaultHooks], or no hooks.
func DefaultHooks() Hooks { return defaultHooks.Get() }

// JoinHooks returns hooks that call each of the given hooks, in order. A field that is nil in all
// of them stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Announced: hook.Join1(joined.Announced, h.Announced),
			Created:   hook.Join1(joined.Created, h.Created),
			Closed:    hook.Join1(joined.Closed, h.Closed),
			Retried:   hook.Join2(joined.Retried, h.Retried),
			Denied:    hook.Join2(joined.Denied, h.Denied),
			Arrived:   hook.Join2(joined.Arrived, h.Arrived),
		}
	}
	return joined
}
