package bucket

import (
	"context"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

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

// checkStore calls Hooks.StoreWarned if the store reports a bad setting. It may run on a goroutine of
// the limiter, so that a panic of the hook is only counted.
func (l *Limiter) checkStore() {
	if l.checked.Load() || l.checked.Swap(true) {
		return
	}
	defer func() {
		if recover() != nil {
			l.panics.Add(1)
		}
	}()
	c, ok := l.config.Store.(store.Checker)
	if h := l.config.Hooks.StoreWarned; ok && h != nil {
		if err := c.Check(); err != nil {
			h(l, err)
		}
	}
}
