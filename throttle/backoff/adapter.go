package backoff

import (
	"sync/atomic"
	"time"
)

// BackOff is a [Responsive] for libraries that retry and ask for each delay, such as cenkalti/backoff, whose interface of that name it has. Make one for
// each operation with [Responsive.BackOff]; the delay behind is shared.
type BackOff struct {
	responsive *Responsive
	generation atomic.Uint64 // of the delay before the present attempt
}

// BackOff returns the delay in that form.
func (r *Responsive) BackOff() *BackOff {
	b := &BackOff{responsive: r}
	b.Reset()
	return b
}

// NextBackOff takes notice of an attempt that was throttled, and returns how long to wait before the next. What it has returned stays as it is when the
// delay changes.
func (b *BackOff) NextBackOff() time.Duration {
	if !b.made() {
		return 0
	}
	now := time.Now()
	if b.responsive.forgotten(now) {
		b.Reset()
	}
	b.responsive.done(b.generation.Load(), Throttled)
	d, generation := b.responsive.slot(now)
	b.generation.Store(generation)
	return d
}

// Reset begins an operation.
func (b *BackOff) Reset() {
	if b.made() {
		b.responsive.forgotten(time.Now())
		b.generation.Store(b.responsive.generation())
	}
}

// Succeeded takes notice of an operation that was served. Retrying libraries do not tell; without it the delay comes down by Config.IdleReset only.
func (b *BackOff) Succeeded() {
	if b.made() {
		b.responsive.done(b.generation.Load(), Success)
	}
}

// made reports whether b is the BackOff of a Responsive that came from New.
func (b *BackOff) made() bool { return b != nil && b.responsive.made() }
