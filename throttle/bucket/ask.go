package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// isFailure tells the guard of the store what is one.
func isFailure(err error) bool { return err != nil }

// isCancelable reports whether a store can be called on the caller's goroutine.
func isCancelable(s store.Store) bool {
	c, ok := s.(store.Cancelable)
	return ok && c.Cancelable()
}

// question is what a store is asked, and for whom.
type question struct {
	store.Request
	requests int   // that wait for the answer
	ahead    int64 // tokens that nobody needs yet, which a policy does not grant
	own      bool  // it is asked on a goroutine of the limiter's own
}

// ask asks the store, or the policy if the store gives no answer in time.
func (l *Limiter) ask(ctx context.Context, q question) (Decision, error) {
	r := q.Request
	if l.memory != nil {
		return l.memory.Take(ctx, r)
	}
	if err := ctx.Err(); err != nil {
		return Decision{Limit: r.Limit.Capacity}, err
	}
	begun := time.Now()
	d, err := remote.Ask(ctx, l.guard, func(ctx context.Context) (Decision, error) { return l.askStore(ctx, r) },
		func(late Decision) { l.giveBack(context.Background(), r.Key, late.Granted) })
	if h := l.config.Hooks.Asked; h != nil && !errors.Is(err, remote.ErrResting) {
		l.tellAsked(ctx, &q, d.Granted, StoreEvent{Limiter: l, Duration: time.Since(begun), Requests: q.requests, Err: err})
	}
	switch {
	case err == nil:
		return d, nil
	case ctx.Err() != nil:
		return Decision{Limit: r.Limit.Capacity}, ctx.Err()
	}
	return l.decideAlone(ctx, r, q.ahead, err)
}

// tellAsked tells the hook. If that panics on a goroutine of the limiter's own, others wait there, and it is counted; otherwise it goes up to
// whoever asked, and what was granted to him is given back.
func (l *Limiter) tellAsked(ctx context.Context, q *question, granted int64, e StoreEvent) {
	told := false
	defer func() {
		switch {
		case told:
		case q.own && recover() != nil:
			l.panics.Add(1)
		case e.Err == nil:
			l.giveBack(context.Background(), q.Key, granted)
		}
	}()
	l.config.Hooks.Asked(ctx, e)
	told = true
}

// decideAlone decides without the store, which has failed.
func (l *Limiter) decideAlone(ctx context.Context, r store.Request, ahead int64, why error) (Decision, error) {
	r.Max -= ahead
	switch l.config.OnFailure {
	case FailClosed:
		return Decision{Limit: r.Limit.Capacity, Source: SourcePolicy}, &storeError{why}
	case LocalShare:
		r.Limit = shareOf(r.Limit, l.config.Replicas)
		if r.Min > r.Limit.Capacity {
			return Decision{Limit: r.Limit.Capacity, Source: SourcePolicy}, &storeError{fmt.Errorf("%d tokens are more than a share, which is %d: %w", r.Min, r.Limit.Capacity, why)}
		}
		d, err := l.share.Take(ctx, r)
		d.Source = SourcePolicy
		return d, err
	}
	return Decision{Allowed: true, Granted: r.Max, Limit: r.Limit.Capacity, Source: SourcePolicy}, nil
}

// Return gives n tokens back that were not needed. It is of best effort. A Fixed bucket gets them back in the present period, also if they were taken
// in the one before.
func (l *Limiter) Return(ctx context.Context, key string, n int64) error {
	ctx, err := l.sound(ctx)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%w: %d", ErrNegative, n)
	}
	return l.returnTo(ctx, key, *l.limitOf(key), n)
}

// returnTo gives tokens back to a bucket of a limit.
func (l *Limiter) returnTo(ctx context.Context, key string, limit Limit, n int64) error {
	defer l.lines.learn(key)
	if l.memory != nil {
		return l.memory.Return(ctx, key, limit, n)
	}
	return l.instruct(ctx, func(ctx context.Context) error { return l.config.Store.Return(ctx, key, limit, n) })
}

// Reset fills the bucket of a key: with a store that is elsewhere, for all who share it, also the present process's share of it for
// [LocalShare]. What was fetched ahead stays where it is.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	ctx, err := l.sound(ctx)
	if err != nil {
		return err
	}
	defer l.lines.learn(key)
	if l.memory != nil {
		return l.memory.Reset(ctx, key)
	}
	if err := l.share.Reset(ctx, key); err != nil {
		return err
	}
	err = l.instruct(ctx, func(ctx context.Context) error { return l.config.Store.Reset(ctx, key) })
	l.flights.learn(key)
	return err
}

// instruct has the store do something, which no policy can do in its place.
func (l *Limiter) instruct(ctx context.Context, something func(context.Context) error) error {
	_, err := remote.Ask(ctx, l.guard, func(ctx context.Context) (struct{}, error) { return struct{}{}, something(ctx) }, nil)
	if err != nil && ctx.Err() == nil {
		return &storeError{err}
	}
	return err
}

// giveBack gives back what nobody needs any more. Nobody waits for that, so that a panic of LimitFor is counted only.
func (l *Limiter) giveBack(ctx context.Context, key string, n int64) {
	if n <= 0 {
		return
	}
	limit, err := l.limitApart(key)
	if err != nil {
		l.panics.Add(1)
		return
	}
	_ = l.returnTo(ctx, key, *limit, n)
}
