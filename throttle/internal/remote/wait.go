package remote

import (
	"context"
	"runtime"
	"time"
)

const (
	busyPart = 4 // a timer that fires this part of its time too late shows that this process is busy

	// Longest is how often the usual time a caller may wait if this process is busy, and how long the
	// context of its call lasts.
	Longest = 4
)

// Wait is how long a caller waits for an answer. If its timer fires much too late, this process has
// too little processor, and an answer may have come that no goroutine has read yet. Then the caller
// waits again, for the time that was lost.
type Wait struct {
	C <-chan time.Time // the timer's

	timer *time.Timer
	due   time.Time
	busy  time.Duration // a timer that is as late as this shows that the process is busy
	lost  time.Duration // how much more time may be added
}

// NewWait begins to wait. The caller must stop it.
func NewWait(length time.Duration) *Wait {
	w := &Wait{timer: time.NewTimer(length), due: time.Now().Add(length), busy: length / busyPart, lost: (Longest - 1) * length}
	w.C = w.timer.C
	return w
}

// Over reports whether the wait is over, after the timer has fired. Otherwise the timer fires again,
// before the deadline of ctx.
func (w *Wait) Over(ctx context.Context) bool {
	runtime.Gosched()
	now := time.Now()
	late := now.Sub(w.due)
	longer := min(late, w.lost-late, Patience(ctx))
	if late < w.busy || longer <= 0 {
		return true
	}
	w.lost -= late + longer
	w.due = now.Add(longer)
	w.timer.Reset(longer)
	return false
}

// Stop ends the timer.
func (w *Wait) Stop() { w.timer.Stop() }
