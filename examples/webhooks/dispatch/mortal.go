package dispatch

import (
	"context"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// mortal is the store of an agent that can be killed. Who is killed does not resign: the lease has to run out.
type mortal struct {
	breaker.Store

	dead atomic.Bool
}

// Resign does nothing for the dead.
func (m *mortal) Resign(ctx context.Context, l breaker.Lease) error {
	if m.dead.Load() {
		return nil
	}
	return m.Store.Resign(ctx, l)
}

// Watch tells of changes if the store can.
func (m *mortal) Watch(ctx context.Context, changed func()) error {
	if w, ok := m.Store.(breaker.Watcher); ok {
		return w.Watch(ctx, changed)
	}
	<-ctx.Done()
	return ctx.Err()
}
