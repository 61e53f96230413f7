package breaker

import (
	"context"
	"errors"

	"github.com/spillway-go/spillway/throttle/breaker/store"

	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// guard stands before the store: see [remote.Guard].
type guardedStore struct {
	*remote.Guard
	manager *Manager
	store   store.Store
}

func newGuardedStore(m *Manager, s store.Store) *guardedStore {
	return &guardedStore{Guard: remote.NewGuard(m.config.StoreTimeout, false, m.storeFailed), manager: m, store: s}
}

// storeFailed tells of a failure of the store. That somebody else was first, or leads, is none.
func (m *Manager) storeFailed(err error) bool {
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrFenced) {
		return false
	}
	m.fail(StoreFailed, err)
	return true
}

// ask makes one call to the store.
func callStore[T any](ctx context.Context, g *guardedStore, call func(context.Context, store.Store) (T, error)) (T, error) {
	return remote.Ask(ctx, g.Guard, func(ctx context.Context) (T, error) { return call(ctx, g.store) }, nil)
}

// guarded runs f on this goroutine. A panic is an error.
func (m *Manager) recoverPanic(f func() error) error {
	_, err := remote.Run(context.Background(), func(context.Context) (struct{}, error) { return struct{}{}, f() })
	return err
}
