package bucket

import (
	"context"
	"time"
)

// Hooks are told what a limiter does. Any field may be nil, and a nil field costs nothing. Hooks run with no lock held and must not block; hooks
// of several goroutines run side by side.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is told of a new limiter, at the end of [New], before anyone can call it.
	Created func(*Limiter)
	// Closed is told once, by [Limiter.Close].
	Closed func(*Limiter)
	// Asked is told of each answer of a store that is not in memory, and of each that did not come in time. The context is that of
	// whoever asked, or the background where several asked together.
	Asked func(context.Context, StoreEvent)
}

// StoreEvent tells of a question to the store.
type StoreEvent struct {
	Limiter  *Limiter
	Duration time.Duration
	Requests int // that were asked for together
	Err      error
}
