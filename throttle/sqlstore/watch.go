package sqlstore

import (
	"context"
	"errors"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// Watched is a [Breaker] that tells of changes as well. Make it with [Watch].
type Watched struct {
	*Breaker

	listen func(ctx context.Context, changed func()) error
}

var _ store.Watcher = (*Watched)(nil)

// Watch returns the store as a [store.Watcher]. database/sql knows no notifications, so listen brings them: it calls changed whenever
// something may have changed, until its context ends, and returns an error if it can listen no longer. It is a hint only; what it
// does not tell of is found at the next refresh.
func Watch(b *Breaker, listen func(ctx context.Context, changed func()) error) (*Watched, error) {
	if b == nil || listen == nil {
		return nil, errors.New("sqlstore: Watch needs a store, and a func that listens")
	}
	return &Watched{Breaker: b, listen: listen}, nil
}

// Watch implements [store.Watcher].
func (w *Watched) Watch(ctx context.Context, changed func()) error { return w.listen(ctx, changed) }
