package throttletest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deixis/faults"
)

// ErrOverloaded is what errors.Is finds in the error of a call that came on top of the backend's capacity.
var ErrOverloaded = errors.New("throttletest: backend is over capacity")

// ErrOutage is what errors.Is finds in the error of a call that came during an outage.
var ErrOutage = errors.New("throttletest: backend is down")

// Backend is a backend that can be overloaded. It serves calls within its capacity, with a short burst of up to 100 ms worth of
// it, at least one call. What comes on top it rejects with a faults.AvailabilityFailure, and a rejection costs work too:
// pushed hard enough, it serves nobody. Make one with [NewBackend]; all methods are safe for concurrent use.
//
// The Set methods and Fail may be called while calls are under way. They govern the calls that come later; a call under
// way ends as it began.
type Backend struct {
	rejectionCost float64
	base          time.Time
	now           func() time.Time
	overloaded    error
	down          error

	mu      sync.Mutex // never held while anything of the user's runs
	budget  budget
	latency time.Duration
	outage  bool
	failure error
	stats   BackendStats
}

// NewBackend returns a backend that is up, or an error that names every field of c that is out of range.
func NewBackend(c BackendConfig) (*Backend, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := &Backend{
		rejectionCost: c.RejectionCost,
		now:           c.Now,
		overloaded:    faults.WithUnavailable(ErrOverloaded, 0),
		down:          faults.WithUnavailable(ErrOutage, 0),
		latency:       c.Latency,
	}
	if b.rejectionCost == 0 {
		b.rejectionCost = defaultRejectionCost
	}
	b.budget.resize(0, c.Capacity)
	b.base = time.Now()
	if b.now != nil {
		b.base = b.now()
	}
	return b, nil
}

// Call makes a call to the backend. It is a function for [throttle.Throttle.Do]:
//
//	err := th.Do(ctx, throttle.High, backend.Call)
//
// It returns nil if it was served, after the latency; the error of [Backend.Fail] if there is one; a faults.AvailabilityFailure
// if it was rejected; and ctx.Err() if ctx ends first, or exactly with the latency. A context that is already over returns its
// error before anything is done or counted. A nil ctx is context.Background().
func (b *Backend) Call(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	latency, taken, answer := b.take(b.elapsed())
	if !taken {
		return answer
	}
	canceled := wait(ctx, latency)
	b.end(answer, canceled)
	if canceled != nil {
		return canceled
	}
	return answer
}

// take takes a call on or rejects it, and returns when and how it will be answered.
func (b *Backend) take(now time.Duration) (latency time.Duration, taken bool, answer error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outage {
		b.stats.Rejected++
		return 0, false, b.down
	}
	if !b.budget.serve(now, b.rejectionCost) {
		b.stats.Rejected++
		return 0, false, b.overloaded
	}
	b.stats.Active++
	return b.latency, true, b.failure
}

// end counts a call that was taken on.
func (b *Backend) end(answer, canceled error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stats.Active--
	switch {
	case canceled != nil:
		b.stats.Canceled++
	case answer != nil:
		b.stats.Failed++
	default:
		b.stats.Served++
	}
}

// wait waits for d, or for ctx to end. If both come at the same instant, it is ctx: a test must not depend on which timer
// happens to be first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err()
}

// elapsed is the time since the backend was made.
func (b *Backend) elapsed() time.Duration {
	if b.now == nil {
		return time.Since(b.base)
	}
	return b.now().Sub(b.base)
}
