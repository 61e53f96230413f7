package bucket

import (
	"context"
	"errors"
	"time"
)

// Wait takes n tokens as soon as they are available. Calls of one key in this process are served in
// order of arrival. It returns nil only if the tokens were granted. Otherwise it returns
//
//   - a *[DeniedError] if ctx has a deadline and the tokens cannot be available before it. Wait
//     returns it at once, without waiting for the deadline. While the store fails and [LocalShare]
//     decides, it may return it only in the last second before the deadline: until then the store
//     may answer again;
//   - [ErrStore] if the store failed and Config.OnFailure did not grant the request. Wait does not
//     wait until the store answers again;
//   - [ErrExceedsCapacity] or [ErrNegative] for an invalid n;
//   - the error of ctx if ctx ends;
//   - [ErrClosed] if the limiter is or becomes closed.
//
// [FailurePolicy] lists what Wait returns if the store fails.
//
// Tokens granted at the moment when ctx ends are given back.
//
// Requests that do not wait, such as Take, are not queued, and there is no order between the waiters of
// different processes. If others take the tokens before there are enough for the first waiter, the queue
// of this process keeps each token that it gets until there are. So each process gets a part. The tokens
// are used later than the store granted them, up to n at once. If all waiters leave, they are given back.
func (l *Limiter) Wait(ctx context.Context, key string, n int64) error {
	ctx, err := l.checkArgs(ctx)
	if err != nil {
		return err
	}
	limit := l.limitOf(key)
	if err := checkTokens(&limit.Limit, n); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.closed:
		return ErrClosed
	default:
	}
	if n == 0 {
		return nil
	}
	if l.memory != nil && l.queues.empty(key) {
		var d Decision
		if l.memory.take(key, limit, n, n, &d); d.Allowed {
			l.count(granted, n)
			return nil
		}
	}
	start := time.Now()
	l.waiting.Add(1)
	defer l.waiting.Add(-1) // after the counters: if Stats shows no waiters, it shows all their outcomes
	r := l.waitInQueue(ctx, key, &limit.Limit, n)
	l.recordWait(ctx, key, n, time.Since(start), r)
	if p := (*limitPanicError)(nil); errors.As(r.err, &p) {
		panic(p.value)
	}
	return r.err
}

type waiter struct {
	n           int64
	deadline    time.Time
	hasDeadline bool
	result      chan waitResult // buffered
	left        bool            // the call has returned, or was denied
}

type waitResult struct {
	source Source
	err    error
}

func (l *Limiter) waitInQueue(ctx context.Context, key string, limit *Limit, n int64) waitResult {
	w := &waiter{n: n, result: make(chan waitResult, 1)}
	w.deadline, w.hasDeadline = ctx.Deadline()
	l.enqueue(key, limit, w)
	select {
	case r := <-w.result:
		return r
	case <-ctx.Done():
		l.leaveQueue(key, w)
		return waitResult{err: ctx.Err()}
	case <-l.closed:
		l.leaveQueue(key, w)
		return waitResult{err: ErrClosed}
	}
}

// leaveQueue removes a waiter from its queue. Tokens that were granted meanwhile are given back.
func (l *Limiter) leaveQueue(key string, w *waiter) {
	l.queues.leave(key, w)
	select {
	case r := <-w.result:
		if r.err == nil && r.source == SourceStore {
			go l.giveBack(context.Background(), key, w.n, false)
		}
	default:
	}
}

func (l *Limiter) recordWait(ctx context.Context, key string, n int64, waited time.Duration, r waitResult) {
	d, err := Decision{Allowed: r.err == nil, Source: r.source}, r.err
	if d.Allowed {
		d.Granted = n
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		d.RetryAfter, err = denied.RetryAfter, nil
	}
	l.record(ctx, key, n, &d, err)
	if h := l.config.Hooks.Waited; h != nil {
		h(ctx, WaitEvent{Limiter: l, Key: key, Tokens: n, Duration: waited, Err: r.err})
	}
}
