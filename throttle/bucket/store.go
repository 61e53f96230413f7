package bucket

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// isCancelable reports whether a store can be called on the caller's goroutine.
func isCancelable(s store.Store) bool {
	c, ok := s.(store.Cancelable)
	return ok && c.Cancelable()
}

// ask takes tokens of a remote store. If the store gives no answer in time, Config.OnFailure decides.
// Requests is the number of requests to the limiter.
func (l *Limiter) ask(ctx context.Context, r store.Request, requests int) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Limit: r.Limit.Capacity}, err
	}
	l.checkStore()
	return l.partOf(r.Key).takeSome(ctx, l, r, requests)
}

// askForOne takes one token, in a call that other callers may share.
func (l *Limiter) askForOne(ctx context.Context, key string, limit *Limit) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Limit: limit.Capacity}, err
	}
	l.checkStore()
	return l.partOf(key).takeOne(ctx, l, key, limit)
}

// decided returns the decision on a batch after its call.
func (l *Limiter) decided(ctx context.Context, b *batch, d Decision, err error) (Decision, error) {
	if err != nil {
		return l.undecided(ctx, b.Request, b.ahead, err)
	}
	if l.config.OnFailure == LocalShare {
		l.share.spend(&b.Request, &d)
	}
	return d, nil
}

// undecided returns the decision on a request that the store did not decide.
func (l *Limiter) undecided(ctx context.Context, r store.Request, ahead int64, err error) (Decision, error) {
	if ctx.Err() != nil {
		return Decision{Limit: r.Limit.Capacity}, ctx.Err()
	}
	return l.applyPolicy(ctx, r, ahead, err)
}

// applyPolicy decides a request after the store has failed with an error.
func (l *Limiter) applyPolicy(ctx context.Context, r store.Request, ahead int64, err error) (Decision, error) {
	r.Max -= ahead
	switch l.config.OnFailure {
	case FailClosed:
		return Decision{Limit: r.Limit.Capacity, Source: SourcePolicy}, &storeError{err}
	case LocalShare:
		r.Limit = l.share.of(r.Limit)
		if r.Min > r.Limit.Capacity {
			err = fmt.Errorf("%d tokens exceed the local share of %d: %w", r.Min, r.Limit.Capacity, err)
			return Decision{Limit: r.Limit.Capacity, Source: SourcePolicy}, &storeError{err}
		}
		d, err := l.share.Take(ctx, r)
		d.Source = SourcePolicy
		return d, err
	}
	return Decision{Allowed: true, Granted: r.Max, Limit: r.Limit.Capacity, Source: SourcePolicy}, nil
}

// Return gives back n tokens that were not used. It makes one attempt, and returns [ErrStore] if
// the store fails. A [Fixed] bucket gets them in its current period, even if they were taken in an
// earlier one.
func (l *Limiter) Return(ctx context.Context, key string, n int64) error {
	ctx, err := l.checkArgs(ctx)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%w: %d", ErrNegative, n)
	}
	return l.returnTo(ctx, key, l.limitOf(key).Limit, n)
}

func (l *Limiter) returnTo(ctx context.Context, key string, limit Limit, n int64) error {
	defer l.queues.recheck(key)
	if l.memory != nil {
		return l.memory.Return(ctx, key, limit, n)
	}
	if l.config.OnFailure == LocalShare {
		_ = l.share.Return(ctx, key, l.share.of(limit), n)
	}
	return l.returnToStore(ctx, key, limit, n)
}

func (l *Limiter) returnToStore(ctx context.Context, key string, limit Limit, n int64) error {
	return l.updateStore(ctx, key, func(ctx context.Context) error { return l.config.Store.Return(ctx, key, limit, n) })
}

// Reset fills the bucket of a key. With a remote store it fills the bucket for all processes, and
// this process's bucket for [LocalShare]. It does not drop tokens that were fetched ahead. It
// returns [ErrStore] if the store fails.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	ctx, err := l.checkArgs(ctx)
	if err != nil {
		return err
	}
	defer l.queues.recheck(key)
	if l.memory != nil {
		return l.memory.Reset(ctx, key)
	}
	if err := l.share.Reset(ctx, key); err != nil {
		return err
	}
	err = l.updateStore(ctx, key, func(ctx context.Context) error { return l.config.Store.Reset(ctx, key) })
	l.partOf(key).forgetDenial(key)
	return err
}

// updateStore calls a method of the store that no policy can replace.
func (l *Limiter) updateStore(ctx context.Context, key string, update func(context.Context) error) error {
	_, err := remote.Ask(ctx, l.partOf(key).guard, func(ctx context.Context) (struct{}, error) { return struct{}{}, update(ctx) }, nil)
	if err != nil && ctx.Err() == nil {
		return &storeError{err}
	}
	return err
}

// giveBack returns tokens that no caller uses.
func (l *Limiter) giveBack(ctx context.Context, key string, n int64) {
	l.returnUnused(ctx, key, n, l.returnTo)
}

// returnLate returns the tokens of an answer that came after its caller had gone. The share of this
// process has not lost them, so it does not get them back: else a store that is always late would
// fill the share without end.
func (l *Limiter) returnLate(key string, n int64) {
	l.returnUnused(context.Background(), key, n, l.returnToStore)
}

// returnUnused returns tokens in one of two ways. No caller waits for it, so that a panic of
// LimitFor is only counted.
func (l *Limiter) returnUnused(ctx context.Context, key string, n int64, to func(context.Context, string, Limit, int64) error) {
	if n <= 0 {
		return
	}
	limit, err := l.recoverLimitOf(key)
	if err != nil {
		l.panics.Add(1)
		return
	}
	_ = to(ctx, key, *limit, n)
}
