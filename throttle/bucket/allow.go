package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// Allow takes one token and reports whether it was granted. It is false for a denial and for every error: ctx has ended,
// the limiter did not come from [New], or the store gave no answer and Config.OnFailure denies the request. With
// [FailOpen] it is true if the store gives no answer. Use [Limiter.Take] to get the error and [Limiter.Decide] for RetryAfter.
func (l *Limiter) Allow(ctx context.Context, key string) bool {
	var d Decision
	return l.allow(ctx, key, 1, &d) == nil && d.Allowed
}

// Decide requests one token and returns the decision. A denial is not an error: check [Decision].Allowed. To get a denial
// as an error, use [Limiter.Take].
func (l *Limiter) Decide(ctx context.Context, key string) (d Decision, err error) {
	err = l.allow(ctx, key, 1, &d)
	return d, err
}

// DecideN requests n tokens: it grants all of them or none. A denial is not an error, as with [Limiter.Decide]. A request for
// 0 tokens is always granted and reports how many tokens are available.
func (l *Limiter) DecideN(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = l.allow(ctx, key, n, &d)
	return d, err
}

// Take takes n tokens, or none. It returns nil only if they were granted: else a *[DeniedError] if there are not enough now, an error that is
// [ErrStore] if the store gave no answer and the policy is [FailClosed], or one that says why the request makes no sense, such as
// [ErrExceedsCapacity].
func (l *Limiter) Take(ctx context.Context, key string, n int64) error {
	var d Decision
	if err := l.allow(ctx, key, n, &d); err != nil || d.Allowed {
		return err
	}
	return &DeniedError{Limiter: l.config.Name, Key: key, RetryAfter: d.RetryAfter}
}

// DecideAtMost requests 1 to n tokens and takes as many as are available. A denial is not an error, as with [Limiter.Decide].
func (l *Limiter) DecideAtMost(ctx context.Context, key string, n int64) (d Decision, err error) {
	if ctx, err = l.sound(ctx); err != nil {
		return d, err
	}
	limit := l.limitOf(key)
	if n < 0 {
		return Decision{Limit: limit.Capacity}, acceptable(limit, n)
	}
	err = l.take(ctx, key, limit, min(n, 1), min(n, limit.Capacity), &d)
	return d, err
}

// Peek tells what there is, and takes nothing.
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	return l.DecideN(ctx, key, 0)
}

// acceptable says why n tokens can never be granted.
func acceptable(limit *Limit, n int64) error {
	switch {
	case n < 0:
		return fmt.Errorf("%w: %d", ErrNegative, n)
	case n > limit.Capacity:
		return fmt.Errorf("%w: %d, and it holds %d", ErrExceedsCapacity, n, limit.Capacity)
	}
	return nil
}

// allow asks for n tokens, or none. The decision is filled in place: see [Level.take].
func (l *Limiter) allow(ctx context.Context, key string, n int64, d *Decision) (err error) {
	if ctx, err = l.sound(ctx); err != nil {
		return err
	}
	limit := l.limitOf(key)
	if uint64(n) > uint64(limit.Capacity) {
		d.Limit = limit.Capacity
		return acceptable(limit, n)
	}
	if n == 1 && l.memory == nil && !l.config.OneByOne {
		l.asking.Add(1)
		defer l.asking.Add(-1)
		*d, err = l.flights.take(ctx, l, key, limit)
		l.note(ctx, key, 1, d, err)
		return err
	}
	return l.take(ctx, key, limit, n, n, d)
}

// take asks for tokens, counts what comes of it, and tells.
func (l *Limiter) take(ctx context.Context, key string, limit *Limit, atLeast, atMost int64, d *Decision) (err error) {
	if l.memory == nil {
		l.asking.Add(1)
		defer l.asking.Add(-1)
		*d, err = l.ask(ctx, question{Request: store.Request{Key: key, Limit: *limit, Min: atLeast, Max: atMost}, requests: 1})
		if atMost > 0 {
			l.note(ctx, key, atMost, d, err)
		}
		return err
	}
	if err := ctx.Err(); err != nil {
		d.Limit = limit.Capacity
		return err
	}
	l.memory.take(key, limit, atLeast, atMost, d)
	if d.Granted > 0 {
		l.count(granted, d.Granted)
	} else if atMost > 0 {
		l.note(ctx, key, atMost, d, nil)
	}
	return nil
}

// note counts one request, and tells if it was denied.
func (l *Limiter) note(ctx context.Context, key string, n int64, d *Decision, err error) {
	switch {
	case err != nil && !errors.Is(err, ErrStore):
		return
	case err != nil:
		l.count(failedClosed, 0)
	case d.Allowed && d.Source == SourcePolicy:
		l.count(failedOpen, d.Granted)
		return
	case d.Allowed:
		l.count(granted, d.Granted)
		return
	case d.Source == SourcePolicy:
		l.count(failedClosed, 0)
	default:
		l.count(denied, 0)
	}
	if h := l.config.Hooks.Denied; h != nil {
		h(ctx, DenialEvent{Limiter: l, Key: key, Tokens: n, RetryAfter: d.RetryAfter, Source: d.Source, Err: err})
	}
}
