package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// Decision is the answer to a request for tokens. [store.Decision] has its fields.
type Decision = store.Decision

// Source is where a [Decision] was made.
type Source = store.Source

const (
	// SourceStore is a decision of the store.
	SourceStore Source = store.SourceStore
	// SourcePolicy is a decision of Config.OnFailure, because the store gave no answer.
	SourcePolicy Source = store.SourcePolicy
	// SourceLease is a decision from tokens that were fetched before: see Config.Lease.
	SourceLease Source = store.SourceLease
)

// Allow takes one token and reports whether it was granted. It returns false for a denial and for
// every error:
//
//   - [ErrStore]: the store failed, and Config.OnFailure did not grant the request;
//   - ctx has ended;
//   - the limiter did not come from [New].
//
// If the store fails, Config.OnFailure decides: with [LocalShare], the default, the share of this
// process. To get the error use [Limiter.Take]. To get RetryAfter use [Limiter.Decide].
func (l *Limiter) Allow(ctx context.Context, key string) bool {
	var d Decision
	return l.takeAll(ctx, key, 1, &d) == nil && d.Allowed
}

// Take takes n tokens or none. It returns nil only if they were granted. Otherwise it returns
//
//   - a *[DeniedError] if fewer than n tokens are available;
//   - [ErrStore] if the store failed and Config.OnFailure did not grant the request;
//   - [ErrExceedsCapacity] or [ErrNegative] for an invalid n;
//   - the error of ctx if ctx has ended.
//
// Requests are not queued. If other callers take one token at a time, as fast as tokens are refilled,
// a Take of several is denied again and again, also after RetryAfter. In that case use [Limiter.Wait] for
// it, which collects tokens until there are enough, or let all callers wait: they are served in order of
// arrival then.
//
// [FailurePolicy] lists what Take returns if the store fails. If ctx ends before Config.StoreTimeout,
// the policy decides after 80 % of the time until then.
func (l *Limiter) Take(ctx context.Context, key string, n int64) error {
	var d Decision
	if err := l.takeAll(ctx, key, n, &d); err != nil || d.Allowed {
		return err
	}
	return &DeniedError{Limiter: l.config.Name, Key: key, RetryAfter: d.RetryAfter}
}

// Decide takes one token if one is available, and returns the decision. Check [Decision].Allowed:
// if the bucket has no token, Allowed is false and the error is nil. To get that as an error, use
// [Limiter.Take]. Decide returns an error, and Allowed false, if
//
//   - the store failed and Config.OnFailure did not grant the request: [ErrStore];
//   - ctx has ended: the error of ctx.
func (l *Limiter) Decide(ctx context.Context, key string) (d Decision, err error) {
	err = l.takeAll(ctx, key, 1, &d)
	return d, err
}

// DecideN takes n tokens or none, and returns the decision, as [Limiter.Decide] does. For an
// invalid n it returns [ErrExceedsCapacity] or [ErrNegative].
func (l *Limiter) DecideN(ctx context.Context, key string, n int64) (d Decision, err error) {
	err = l.takeAll(ctx, key, n, &d)
	return d, err
}

// DecideAtMost takes 1 to n tokens, as many as are available, and returns the decision, as
// [Limiter.Decide] does. An n above the capacity means the capacity. If n is negative, it returns
// [ErrNegative].
func (l *Limiter) DecideAtMost(ctx context.Context, key string, n int64) (d Decision, err error) {
	if ctx, err = l.checkArgs(ctx); err != nil {
		return d, err
	}
	limit := l.limitOf(key)
	if n < 0 {
		return Decision{Limit: limit.Capacity}, checkTokens(&limit.Limit, n)
	}
	err = l.take(ctx, key, limit, min(n, 1), min(n, limit.Capacity), &d)
	return d, err
}

// Peek takes no tokens. Remaining of the decision is the number of tokens that are available. While
// the store fails, it is that of Config.OnFailure: see [FailOpen]. Errors are those of
// [Limiter.Decide].
func (l *Limiter) Peek(ctx context.Context, key string) (Decision, error) {
	return l.DecideN(ctx, key, 0)
}

func checkTokens(limit *Limit, n int64) error {
	switch {
	case n < 0:
		return fmt.Errorf("%w: %d", ErrNegative, n)
	case n > limit.Capacity:
		return fmt.Errorf("%w: %d requested, capacity %d", ErrExceedsCapacity, n, limit.Capacity)
	}
	return nil
}

// takeAll takes n tokens or none. The decision is written in place, because copying it at each
// return takes longer than the arithmetic.
func (l *Limiter) takeAll(ctx context.Context, key string, n int64, d *Decision) (err error) {
	if ctx, err = l.checkArgs(ctx); err != nil {
		return err
	}
	limit := l.limitOf(key)
	if uint64(n) > uint64(limit.Capacity) {
		d.Limit = limit.Capacity
		return checkTokens(&limit.Limit, n)
	}
	return l.take(ctx, key, limit, n, n, d)
}

// take takes atLeast to atMost tokens or none, counts the request, and calls its hooks.
func (l *Limiter) take(ctx context.Context, key string, limit *ratedLimit, atLeast, atMost int64, d *Decision) (err error) {
	if l.memory == nil {
		l.asking.Add(1)
		defer l.asking.Add(-1)
		shared := atLeast == 1 && atMost == 1 && !l.config.OneByOne
		*d, err = l.ask(ctx, store.Request{Key: key, Limit: limit.Limit, Min: atLeast, Max: atMost}, 1, shared)
		if atMost > 0 {
			l.record(ctx, key, atMost, d, err)
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
		l.record(ctx, key, atMost, d, nil)
	}
	return nil
}

func (l *Limiter) record(ctx context.Context, key string, n int64, d *Decision, err error) {
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
	case d.Source == SourcePolicy && l.config.OnFailure == LocalShare:
		l.count(failedClosed, 0)
	default:
		l.count(denied, 0)
	}
	if h := l.config.Hooks.Denied; h != nil {
		h(ctx, DenialEvent{Limiter: l, Key: key, Tokens: n, RetryAfter: d.RetryAfter, Source: d.Source, Err: err})
	}
}

// TokenRequester takes tokens of one bucket. See [Limiter.Requester] and [Guard].
type TokenRequester interface {
	// RequestToken takes one token. It returns the errors of [Limiter.Take].
	RequestToken(ctx context.Context) error
}

// Requester returns a TokenRequester for the bucket of a key.
func (l *Limiter) Requester(key string) TokenRequester { return requester{l, key} }

type requester struct {
	limiter *Limiter
	key     string
}

// RequestToken implements [TokenRequester].
func (r requester) RequestToken(ctx context.Context) error {
	return r.limiter.Take(ctx, r.key, 1)
}

// Guard returns a function that takes a token and then calls f with the context of its caller. If
// no token is granted, it returns the error of RequestToken and does not call f. If f is nil, it takes
// no token and returns an error. A nil context is context.Background().
func Guard[T any](r TokenRequester, f func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (none T, err error) {
		if f == nil {
			return none, errNoFunction
		}
		if ctx == nil {
			ctx = context.Background()
		}
		if err := r.RequestToken(ctx); err != nil {
			return none, err
		}
		return f(ctx)
	}
}
