package bucket

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// ask takes tokens of a remote store. If the store gives no answer in time, Config.OnFailure decides.
// Requests is the number of requests to the limiter. Other callers may share the call of a request that is shared.
func (l *Limiter) ask(ctx context.Context, r store.Request, requests int, shared bool) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Limit: r.Limit.Capacity}, err
	}
	l.checkStore()
	return l.partOf(r.Key).take(ctx, l, r, requests, shared)
}

// undecided returns the decision on a request that the store did not decide.
func (l *Limiter) undecided(ctx context.Context, r store.Request, ahead int64, err error) (Decision, error) {
	if ctx.Err() != nil {
		return Decision{Limit: r.Limit.Capacity}, ctx.Err()
	}
	r.Max -= ahead
	switch {
	case l.config.OnFailure == FailClosed:
		return Decision{Limit: r.Limit.Capacity, Source: SourcePolicy}, &storeError{err}
	case l.config.OnFailure == FailOpen && !l.partOf(r.Key).mayBeBusy(l, err):
		return Decision{Allowed: true, Granted: r.Max, Limit: r.Limit.Capacity, Source: SourcePolicy}, nil
	}
	r.Limit = l.share.of(r.Limit)
	if r.Min > r.Limit.Capacity {
		err = fmt.Errorf("%d tokens exceed the local share of %d: %w", r.Min, r.Limit.Capacity, err)
		return Decision{Limit: r.Limit.Capacity, Source: SourcePolicy}, &storeError{err}
	}
	d, err := l.share.Take(ctx, r)
	d.Source = SourcePolicy
	return d, err
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
	return l.returnTo(ctx, key, l.limitOf(key).Limit, n, true)
}

// returnTo gives tokens back to the store, and to the share of this process.
func (l *Limiter) returnTo(ctx context.Context, key string, limit Limit, n int64, share bool) error {
	if share {
		defer l.queues.recheck(key)
		if l.memory != nil {
			return l.memory.Return(ctx, key, limit, n)
		}
		if l.config.OnFailure != FailClosed {
			_ = l.share.Return(ctx, key, l.share.of(limit), n)
		}
	}
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

// giveBack returns tokens that no caller uses. No caller waits for it, so that a panic of LimitFor is only
// counted. If the answer has come after its caller had gone, the share of this process has not lost the tokens,
// so it does not get them back: else a store that is always late would fill the share without end.
func (l *Limiter) giveBack(ctx context.Context, key string, n int64, late bool) {
	if n <= 0 {
		return
	}
	limit, err := l.recoverLimitOf(key)
	if err != nil {
		l.panics.Add(1)
		return
	}
	_ = l.returnTo(ctx, key, *limit, n, !late)
}

// Warm opens connections of the store, and loads what requests need, such as scripts. Call it when
// the program starts: otherwise the first requests may wait for connections longer than
// Config.StoreTimeout, so that Config.OnFailure decides them. Warm takes no tokens. It returns
// [ErrStore] if the store fails, and waits until ctx ends. The limiter works then too.
func (l *Limiter) Warm(ctx context.Context) error {
	ctx, err := l.checkArgs(ctx)
	if err != nil || l.memory != nil {
		return err
	}
	l.checkStore()
	_, err = remote.Await(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.warm(ctx) }, nil)
	if err != nil && ctx.Err() == nil {
		return &storeError{err}
	}
	return err
}

func (l *Limiter) warm(ctx context.Context) error {
	if w, ok := l.config.Store.(store.Warmer); ok {
		return w.Warm(ctx)
	}
	_, err := l.takeChecked(ctx, []store.Request{{Limit: l.limit.Load().Limit}})
	return err
}

// checkStore asks a store how many calls it makes, before the first request. It calls Hooks.StoreWarned if the store
// reports a bad setting. It may run on a goroutine of the limiter, so that a panic is only counted.
func (l *Limiter) checkStore() {
	if l.checked.Load() {
		return
	}
	defer func() {
		if recover() != nil {
			l.panics.Add(1)
		}
	}()
	if b, ok := l.config.Store.(store.Bounded); ok {
		l.bound.Store(int64(min(l.config.MaxCalls, max(1, b.MaxCalls()))))
	}
	if l.checked.Swap(true) {
		return
	}
	c, ok := l.config.Store.(store.Checker)
	if h := l.config.Hooks.StoreWarned; ok && h != nil {
		if err := c.Check(); err != nil {
			h(l, err)
		}
	}
}
