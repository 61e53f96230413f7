package backoff

import (
	"context"
	"time"
)

// Hooks are told what a [Responsive] does. Any field may be nil, and a nil field costs nothing. They run on the goroutine of whoever called the
// Responsive, which has none of its own, with no lock held; the caller waits for them, and they must not block. They may call the Responsive. If
// one panics, the panic goes up to the caller; the books are in order by then. Hooks of several goroutines run side by side.
type Hooks struct {
	_ struct{} // keyed literals only: fields will be added

	// Created is told of a new Responsive, at the end of [New], before anyone can call it.
	Created func(*Responsive)
	// Closed is told once, by [Responsive.Close].
	Closed func(*Responsive)
	// Stepped is told of each step of the delay, by whoever makes it: also by one who asks for Delay or Stats, and finds it idle for so long that
	// it is forgotten.
	Stepped func(StepEvent)
	// Slept is told of each wait that was not over at once, with the context of whoever waited.
	Slept func(context.Context, SleepEvent)
}

// StepEvent tells of a step of the delay.
type StepEvent struct {
	Responsive *Responsive
	From, To   time.Duration

	steps uint64
	made  bool
}

// Up reports whether the delay has become longer, or would have if it were not the longest already.
func (e StepEvent) Up() bool { return e.To >= e.From }

// SleepEvent tells of somebody who has waited for his turn.
type SleepEvent struct {
	Responsive *Responsive
	Duration   time.Duration
	Err        error // of the context if it ended before his turn came, or ErrClosed
}
