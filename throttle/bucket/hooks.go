package bucket

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/hook"
)

// Hooks are functions that a limiter calls. Any field may be nil. A nil field costs nothing.
//
// Hooks are called synchronously, with no lock held, and must not block. Several goroutines may
// call a hook at the same time. A panic of Created, Closed, Denied or Waited reaches the caller; the
// limiter's state is already consistent. StoreCalled and StoreWarned are about the store, whose answer is for
// several callers: a panic is counted in [Stats].HookPanics, and does not change the decisions.
//
// Hooks may call the limiter. StoreCalled must not request tokens: that may wait for the hook itself.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is called at the end of [New], before other goroutines can use the limiter.
	Created func(*Limiter)
	// Closed is called once, by [Limiter.Close].
	Closed func(*Limiter)
	// StoreCalled is called at the end of each call to a remote store, and when a store gives no answer
	// in time. The context is the caller's, or context.Background if several requests may share
	// the call.
	StoreCalled func(context.Context, StoreEvent)
	// Denied is called for each denied request, with the caller's context.
	Denied func(context.Context, DenialEvent)
	// Waited is called at the end of each [Limiter.Wait] that was queued, with the caller's
	// context.
	Waited func(context.Context, WaitEvent)
	// StoreWarned is called once, before the first store call, if the store reports a setting with which
	// it does not work well: see store.Checker.
	StoreWarned func(*Limiter, error)
}

// defaultHooks is the only package-level state of bucket.
var defaultHooks hook.Default[Hooks]

// SetDefaultHooks sets the hooks of every limiter that is created later with a Config without
// Hooks, like [slog.SetDefault]. A limiter that a library creates is then observed too. Call it
// before limiters are created: it does not change existing limiters.
//
// A Config with Hooks does not use the default hooks. To use both, join them:
//
//	Hooks: bucket.JoinHooks(bucket.DefaultHooks(), own)
func SetDefaultHooks(h Hooks) { defaultHooks.Set(h) }

// DefaultHooks returns the hooks of the last [SetDefaultHooks], or no hooks.
func DefaultHooks() Hooks { return defaultHooks.Get() }

// JoinHooks returns hooks that call all the given hooks, in order. A field that is nil in all of
// them stays nil.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for _, h := range hooks {
		joined = Hooks{
			Created:     hook.Join1(joined.Created, h.Created),
			Closed:      hook.Join1(joined.Closed, h.Closed),
			StoreCalled: hook.Join2(joined.StoreCalled, h.StoreCalled),
			Denied:      hook.Join2(joined.Denied, h.Denied),
			Waited:      hook.Join2(joined.Waited, h.Waited),
			StoreWarned: hook.Join2(joined.StoreWarned, h.StoreWarned),
		}
	}
	return joined
}

// StoreEvent is the end of a call to the store.
type StoreEvent struct {
	Limiter  *Limiter
	Duration time.Duration // until the answer, or until the limiter stopped waiting
	Requests int           // requests that the call was made for
	Err      error         // nil if the store answered in time
}

// String returns the event in one line.
func (e StoreEvent) String() string {
	if e.Err != nil {
		return fmt.Sprintf("bucket %s: store failed after %v, for %d requests: %v", e.Limiter.Name(), e.Duration, e.Requests, e.Err)
	}
	return fmt.Sprintf("bucket %s: store answered after %v, for %d requests", e.Limiter.Name(), e.Duration, e.Requests)
}

// DenialEvent is a request that was denied.
type DenialEvent struct {
	Limiter    *Limiter
	Key        string
	Tokens     int64 // requested
	RetryAfter time.Duration
	Source     Source
	Err        error // ErrStore if the store failed and the request was not decided: errors.Unwrap returns the reason
}

// String returns the event in one line. A long key is cut.
func (e DenialEvent) String() string {
	if e.Err != nil {
		return fmt.Sprintf("bucket %s: denied %d tokens of %s: %v", e.Limiter.Name(), e.Tokens, check.Shown(e.Key), e.Err)
	}
	return fmt.Sprintf("bucket %s: denied %d tokens of %s, retry after %v (source %v)",
		e.Limiter.Name(), e.Tokens, check.Shown(e.Key), e.RetryAfter, e.Source)
}

// WaitEvent is the end of a [Limiter.Wait] that was queued.
type WaitEvent struct {
	Limiter  *Limiter
	Key      string
	Tokens   int64 // requested
	Duration time.Duration
	Err      error // nil if the tokens were granted
}

// String returns the event in one line. A long key is cut.
func (e WaitEvent) String() string {
	if e.Err != nil {
		return fmt.Sprintf("bucket %s: waited %v for %d tokens of %s: %v", e.Limiter.Name(), e.Duration, e.Tokens, check.Shown(e.Key), e.Err)
	}
	return fmt.Sprintf("bucket %s: waited %v for %d tokens of %s", e.Limiter.Name(), e.Duration, e.Tokens, check.Shown(e.Key))
}
