package throttletest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// ErrOverloaded is found by errors.Is in the error of a call that exceeded the backend's capacity.
var ErrOverloaded = errors.New("throttletest: backend is over capacity")

// ErrOutage is found by errors.Is in the error of a call during an outage.
var ErrOutage = errors.New("throttletest: backend is down")

// Defaults and limits of BackendConfig.
const (
	defaultRejectionCost = 0.1
	maxCapacity          = 1e9

	wantCapacity = "0 for no limit, at most 1e9"
	wantLatency  = "0s or more"
)

// BackendConfig configures a [Backend]. A zero field means its default. [NewBackend] copies the
// config.
type BackendConfig struct {
	// Capacity is the number of calls per second that the backend serves, at most 1e9. Default 0:
	// no limit.
	Capacity float64
	// RejectionCost is the work of a rejection, as a part of the work of a served call. More than
	// 0, at most 1. Default 0.1. With 0.1, ten times the capacity leaves no work for served calls.
	RejectionCost float64
	// Latency is the duration of a served call. Default 0. It passes on real timers, or on those of
	// a synctest bubble, and not on Now. Rejections have no latency.
	Latency time.Duration
	// Now returns the time by which capacity is measured. It must be safe for concurrent use.
	// Default: the monotonic clock, which follows the fake clock of testing/synctest.
	Now func() time.Time
}

func (c *BackendConfig) validate() error {
	e := check.Errors{Owner: "throttletest: BackendConfig"}
	e.Want(validCapacity(c.Capacity), "Capacity", c.Capacity, wantCapacity)
	e.Want(c.RejectionCost == 0 || check.Within(c.RejectionCost, math.SmallestNonzeroFloat64, 1),
		"RejectionCost", c.RejectionCost, "more than 0, at most 1")
	e.Want(c.Latency >= 0, "Latency", c.Latency, wantLatency)
	return e.Err()
}

func validCapacity(perSecond float64) bool { return check.Within(perSecond, 0, maxCapacity) }

// Backend is a backend that can be overloaded. It serves calls up to its capacity, with bursts of
// up to 100 ms of capacity, at least one call. It rejects the other calls with a
// faults.AvailabilityFailure. Each rejection costs work too, so under enough load the backend
// serves no call. Create one with [NewBackend]. All methods are safe for concurrent use.
//
// The Set methods and Fail may be called at any time. They affect later calls only, not calls in
// flight.
type Backend struct {
	rejectionCost float64
	base          time.Time
	now           func() time.Time
	overloaded    error
	down          error

	mu      sync.Mutex // not held while a function of the user runs
	budget  budget
	latency time.Duration
	outage  bool
	failure error
	stats   BackendStats
}

// NewBackend returns a backend that is up. If fields of c are invalid, it returns an error that
// names each of them, its value and its range.
func NewBackend(c BackendConfig) (*Backend, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := &Backend{
		rejectionCost: check.Default(c.RejectionCost, defaultRejectionCost),
		now:           c.Now,
		overloaded:    faults.WithUnavailable(ErrOverloaded, 0),
		down:          faults.WithUnavailable(ErrOutage, 0),
		latency:       c.Latency,
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
// It returns:
//   - nil after the latency, if the backend served the call
//   - the error of [Backend.Fail] after the latency, if one is set
//   - a faults.AvailabilityFailure at once, if the backend rejected the call
//   - ctx.Err(), if ctx ends before the latency is over or at the same instant
//
// A call with a context that has ended is not made and not counted. A nil ctx means
// context.Background().
func (b *Backend) Call(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	latency, accepted, result := b.begin(b.elapsed())
	if !accepted {
		return result
	}
	canceled := wait(ctx, latency)
	b.end(result, canceled)
	if canceled != nil {
		return canceled
	}
	return result
}

// begin accepts or rejects a call. It returns the result of the call, and after which latency.
func (b *Backend) begin(now time.Duration) (latency time.Duration, accepted bool, result error) {
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

// end counts the end of an accepted call.
func (b *Backend) end(result, canceled error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stats.Active--
	switch {
	case canceled != nil:
		b.stats.Canceled++
	case result != nil:
		b.stats.Failed++
	default:
		b.stats.Served++
	}
}

// wait waits for d, or for the end of ctx. If both come at the same instant, it returns ctx.Err():
// a test must not depend on the order of two timers. A context without Done never ends.
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
	if deadline, ok := ctx.Deadline(); ok && ctx.Done() != nil && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (b *Backend) elapsed() time.Duration {
	if b.now == nil {
		return time.Since(b.base)
	}
	return b.now().Sub(b.base)
}

// SetCapacity sets the number of calls per second that the backend serves; 0 means no limit. If
// perSecond is out of range, it returns an error and changes nothing. For a backend that serves no
// call, use [Backend.SetOutage].
func (b *Backend) SetCapacity(perSecond float64) error {
	if !validCapacity(perSecond) {
		return fmt.Errorf("throttletest: capacity is %v: want %s", perSecond, wantCapacity)
	}
	now := b.elapsed()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget.resize(now, perSecond)
	return nil
}

// SetLatency sets the duration of a served call. If d is negative, it returns an error and changes
// nothing.
func (b *Backend) SetLatency(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("throttletest: latency is %v: want %s", d, wantLatency)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latency = d
	return nil
}

// SetOutage begins or ends an outage. During an outage every call is rejected at once.
func (b *Backend) SetOutage(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outage = down
}

// Fail makes the backend return err from every call that it would have served. Capacity and latency
// still apply. Nil ends it.
func (b *Backend) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = err
}

// BackendStats are numbers of calls that reached a backend, by result.
type BackendStats struct {
	Served   uint64 // returned nil
	Failed   uint64 // returned the error of Fail
	Rejected uint64 // over capacity, or during an outage
	Canceled uint64 // accepted, but the context ended before the latency was over
	Active   uint64 // accepted, and still in flight

	_ struct{} // keyed literals only
}

// Calls returns the number of all calls.
func (s BackendStats) Calls() uint64 {
	return s.Served + s.Failed + s.Rejected + s.Canceled + s.Active
}

// Stats returns the numbers of calls, all at the same instant.
func (b *Backend) Stats() BackendStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stats
}

// Served returns the number of calls served so far.
func (b *Backend) Served() uint64 { return b.Stats().Served }

// Rejected returns the number of calls rejected so far.
func (b *Backend) Rejected() uint64 { return b.Stats().Rejected }
