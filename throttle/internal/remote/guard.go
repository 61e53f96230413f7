// Package remote calls services that may be slow or down, such as stores. It bounds the time of
// each call, and pauses calls after several failures.
//
// A [Guard] is a small circuit breaker inside this module. It is separate from package breaker,
// because breaker's own stores need one too.
package remote

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The pauses of a [Guard].
const (
	ShortestRest = 250 * time.Millisecond // first pause; each next one is twice as long
	LongestRest  = time.Second            // short, so that a recovered service is noticed soon
)

// slowPart is the part of its timeout that a slow call takes. One that is too slow would lose its
// answer on the caller's goroutine, also if only this process is too busy to read it.
const slowPart = 2

// Errors of [Ask] without a call.
var (
	ErrResting = errors.New("not called after several failures, next attempt within 1s")
	ErrBusy    = errors.New("not called: too many calls are in flight")
)

// Verdict is what the result of a call shows about the service.
type Verdict uint8

const (
	// Unknown is a result that shows nothing, such as a call that was not sent.
	Unknown Verdict = iota
	// Answered is an answer of a service that works.
	Answered
	// Failed is a failure of the service.
	Failed
)

// Rules are the settings of a [Guard].
type Rules struct {
	// Timeout is how long a caller waits for its call, and up to Longest times that while this process
	// is too busy to read an answer: see [Wait]. Then the context of the call ends.
	Timeout time.Duration
	// Prompt means that calls return as soon as their context ends. They run on the caller's
	// goroutine, unless a call of the last second was slow. Any other call runs on a goroutine of its
	// own, which the caller may abandon.
	Prompt bool
	// Early means that a caller whose deadline is earlier than Timeout gives up after 80 % of its
	// time. The call goes on without it, up to Timeout.
	Early bool
	// Calls is the number of calls in flight at the same time, abandoned ones included. Up to
	// Waiting callers wait for one of them to end, each for half of its time.
	Calls, Waiting int
	// Failures is the number of failures in a row that begin a pause, if no call was answered for
	// the time Silence.
	Failures int
	Silence  time.Duration
	// Judge returns the verdict on the error of a call, nil included. It is called with no lock
	// held, after each call whose context has not ended.
	Judge func(error) Verdict
}

// Guard limits the calls of one service, by its [Rules]. After failures it makes no calls during a
// pause. Then it makes one call, the trial: if that fails too, the next pause is twice as long.
// Create it with [NewGuard]. All methods are safe for concurrent use.
type Guard struct {
	rules    Rules
	inFlight chan struct{} // has an element for each call
	waiting  atomic.Int64
	slow     atomic.Int64 // when the last slow call ended, in nanoseconds since 1970

	mu       sync.Mutex
	failures int           // in a row
	answered time.Time     // the last answer
	pause    time.Duration // length of the last pause; 0 after an answer
	until    time.Time     // end of the last pause
	trial    bool          // the call after a pause is in flight
}

// NewGuard returns a guard with these rules.
func NewGuard(r Rules) *Guard { return &Guard{rules: r, inFlight: make(chan struct{}, r.Calls)} }

// Ask makes one call, or returns [ErrResting] during a pause and [ErrBusy] if too many calls stay in
// flight. If the call returns a value after its caller gave up, Ask passes it to late, which may be
// nil.
func Ask[T any](ctx context.Context, g *Guard, call func(context.Context) (T, error), late func(T)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	patience := g.rules.patience(ctx)
	waited, err := g.enter(ctx, patience/2)
	if err != nil {
		return zero, err
	}
	trial, err := g.begin()
	if err != nil {
		g.leave()
		return zero, err
	}
	r := &run{guard: g, trial: trial, begun: time.Now()}
	patience -= waited
	if !g.rules.Prompt || patience < g.rules.Timeout || r.begun.Sub(time.Unix(0, g.slow.Load())) < time.Second {
		return await(ctx, r, patience, call, late)
	}
	return direct(ctx, r, call)
}

// direct makes a call on the caller's goroutine.
func direct[T any](ctx context.Context, r *run, call func(context.Context) (T, error)) (T, error) {
	defer r.guard.leave()
	defer r.judge(ctx, errNoReturn) // unless it was judged
	calling, end := context.WithTimeout(ctx, r.guard.rules.Timeout)
	defer end()
	value, err := Run(calling, call)
	if calling.Err() != nil {
		runtime.Gosched() // as Wait.Over does, to see how busy this process is
	}
	r.judge(ctx, err)
	return value, err
}

// await runs a call on a new goroutine, and waits for it no longer than patience.
func await[T any](ctx context.Context, r *run, patience time.Duration, call func(context.Context) (T, error), late func(T)) (T, error) {
	timeout, parent := r.guard.rules.Timeout, ctx
	if patience < timeout { // the caller leaves before the call is late
		parent = context.WithoutCancel(ctx)
	}
	calling, end := context.WithTimeout(parent, Longest*timeout)
	w := NewWait(patience)
	defer w.Stop()
	value, err := awaitFor(ctx, w, func(context.Context) (T, error) {
		defer r.guard.leave()
		defer end()
		value, err := Run(calling, call)
		r.judge(parent, err)
		return value, err
	}, func(value T, err error) {
		if err == nil && late != nil {
			late(value)
		}
	})
	giveUp := func() { r.judge(parent, err); end() }
	if rest := timeout - time.Since(r.begun); errors.Is(err, ErrNoAnswer) && parent.Err() == nil && rest > 0 {
		time.AfterFunc(rest, giveUp)
	} else {
		giveUp()
	}
	return value, err
}

// patience returns how long a caller waits for its call.
func (r *Rules) patience(ctx context.Context) time.Duration {
	if r.Early {
		return min(r.Timeout, Patience(ctx))
	}
	return r.Timeout
}

// Patience returns 80 % of the time until the deadline of ctx. The rest is for what the caller does
// without an answer. Without a deadline it returns the longest duration.
func Patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return time.Until(deadline) / 5 * 4
}

type run struct {
	guard  *Guard
	trial  bool
	begun  time.Time
	judged atomic.Bool
}

// judge records the result of the call, once. A canceled call shows nothing. Neither does a failure
// long after the timeout: this process was too busy to read an answer.
func (r *run) judge(ctx context.Context, err error) {
	if r.judged.Swap(true) {
		return
	}
	rules, took := &r.guard.rules, time.Since(r.begun)
	if took > rules.Timeout/slowPart {
		r.guard.slow.Store(time.Now().UnixNano())
	}
	v := Unknown
	if ctx.Err() == nil {
		v = rules.Judge(err)
	}
	if v == Failed && took > rules.Timeout+rules.Timeout/busyPart {
		v = Unknown
	}
	r.guard.record(v, r.trial)
}

// Resting reports whether the guard makes no calls now.
func (g *Guard) Resting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resting()
}

// resting reports whether a call must not be made: during a pause, and while the trial after it is
// in flight.
func (g *Guard) resting() bool {
	return g.pause > 0 && (g.trial || time.Now().Before(g.until))
}

// Silent reports whether no call was answered for a time.
func (g *Guard) Silent(length time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.answered) >= length
}

// enter counts a call in flight. If there are too many, it waits until one of them ends, and returns
// how long that took. Callers wait in order of arrival.
func (g *Guard) enter(ctx context.Context, longest time.Duration) (waited time.Duration, err error) {
	select {
	case g.inFlight <- struct{}{}:
		return 0, nil
	default:
	}
	if g.Resting() {
		return 0, ErrResting
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(g.rules.Waiting) {
		return 0, ErrBusy
	}
	begun := time.Now()
	w := NewWait(longest)
	defer w.Stop()
	for {
		select {
		case g.inFlight <- struct{}{}:
			return min(time.Since(begun), longest), nil
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-w.C:
			if w.Over(ctx) {
				return 0, ErrBusy
			}
		}
	}
}

func (g *Guard) leave() { <-g.inFlight }

// begin reports whether a call is a trial. It returns ErrResting if the call must not be made.
func (g *Guard) begin() (trial bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.resting() {
		return false, ErrResting
	}
	g.trial = g.pause > 0
	return g.trial, nil
}

// record records the verdict on a call. A failure may begin a pause.
func (g *Guard) record(v Verdict, trial bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if trial {
		g.trial = false
	}
	now := time.Now()
	switch {
	case v == Unknown:
	case v == Answered:
		g.failures, g.pause, g.answered = 0, 0, now
	case g.pause > 0 && !trial: // the call began before the pause
	case g.pause == 0 && !g.failedOften(now):
	default:
		g.pause = min(max(2*g.pause, ShortestRest), LongestRest)
		g.until = now.Add(g.pause)
	}
}

// failedOften counts a failure, and reports whether a pause must begin.
func (g *Guard) failedOften(now time.Time) bool {
	g.failures++
	return g.failures >= g.rules.Failures && now.Sub(g.answered) >= g.rules.Silence
}
