package protocol

import (
	"context"
	"time"
)

const maxSlack = 25 * time.Millisecond

// deadline is the time at which the caller of a served call gives up. It separates callers that have
// given up at their deadline from those that have cancelled. The zero deadline is never.
//
// The client of the caller ends the call at its own deadline, and the server sees a cancellation.
// The server began to count when it read the request, later than the client did. So the
// cancellation often arrives before the server's deadline. How long before, with a client and a
// server on two processors:
//
//	                               99 of 100    longest
//	idle                             3 ms          7 ms
//	delays vary by 20 ms            17 ms         18 ms
//	eight busy goroutines           25 ms         44 ms
//
// The slack is a quarter of the time that the call had, at most maxSlack. With more slack, calls
// that the caller cancels for another reason would count as timeouts. With less, an overloaded
// server would miss many timeouts. It need not see all.
type deadline struct {
	at    time.Time
	slack time.Duration
}

func deadlineOf(ctx context.Context) deadline {
	at, ok := ctx.Deadline()
	if !ok {
		return deadline{}
	}
	return deadline{at: at, slack: min(time.Until(at)/4, maxSlack)}
}

func (d deadline) passed(ctx context.Context) bool {
	if d.at.IsZero() {
		return false
	}
	left := time.Until(d.at)
	return left <= 0 || left <= d.slack && ctx.Err() == context.Canceled
}

// ended returns why the caller did not wait for the end of the call: context.DeadlineExceeded,
// context.Canceled, or nil if it still waits.
func (d deadline) ended(ctx context.Context) error {
	switch {
	case d.passed(ctx):
		return context.DeadlineExceeded
	case ctx.Err() == context.Canceled:
		return context.Canceled
	}
	return nil
}
