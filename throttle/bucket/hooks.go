package bucket

import (
	"context"
	"time"
)

// Hooks are told what a limiter does. Any field may be nil, and a nil field costs nothing. Hooks run with no lock held, and those whom they tell
// of wait for them: they must not block. Hooks of several goroutines run side by side.
//
// They run on the goroutine of whoever called the limiter. If one panics there, the panic goes up to him; the limiter's own books are in order
// by then. Only Asked runs on goroutines of the limiter's own too, where requests are asked for together or stand in line: a panic there is
// counted in [Stats].HookPanics, and changes nothing for those who asked. Hooks may call the limiter, but Asked must not ask it for tokens, which
// might wait for the hook itself.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is told of a new limiter, at the end of [New], before anyone can call it.
	Created func(*Limiter)
	// Closed is told once, by [Limiter.Close].
	Closed func(*Limiter)
	// Asked is told of each answer of a store that is not in memory, and of each that did not come in time. The context is that of
	// whoever asked, or the background where several may have asked together.
	Asked func(context.Context, StoreEvent)
	// Denied is told of each request that was denied, with the context of whoever asked.
	Denied func(context.Context, DenialEvent)
	// Waited is told at the end of each [Limiter.Wait] that stood in line, with the context of whoever waited.
	Waited func(context.Context, WaitEvent)
}

// StoreEvent tells of a question to the store.
type StoreEvent struct {
	Limiter  *Limiter
	Duration time.Duration
	Requests int // that were asked for together
	Err      error
}

// DenialEvent tells of a request that was denied.
type DenialEvent struct {
	Limiter    *Limiter
	Key        string
	Tokens     int64 // asked for
	RetryAfter time.Duration
	Source     Source
	Err        error // ErrStore if the store gave no answer and the policy is FailClosed: errors.Unwrap gives the reason
}

// WaitEvent tells of somebody who has waited in line.
type WaitEvent struct {
	Limiter  *Limiter
	Key      string
	Tokens   int64
	Duration time.Duration
	Err      error // nil if the tokens were granted
}
