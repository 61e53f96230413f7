package httpthrottle

import (
	"context"
	"time"
)

// inside is the context of a request that a middleware serves. It knows the middleware's writer, which a handler cannot find under a writer
// that hides it, as that of http.TimeoutHandler does. Being but a pointer it costs no memory.
type inside struct{ writer *writer }

// writerKey is the key of a context's writer.
type writerKey struct{}

func (c inside) Deadline() (time.Time, bool) { return c.writer.call.Context().Deadline() }
func (c inside) Done() <-chan struct{}       { return c.writer.call.Context().Done() }
func (c inside) Err() error                  { return c.writer.call.Context().Err() }

func (c inside) Value(key any) any {
	if key == (writerKey{}) {
		return c.writer
	}
	return c.writer.call.Context().Value(key)
}

// explain leaves word with each middleware around ctx, none of which can be told, of what their answer will mean if it is no success. Until
// then they wait and see: a handler may have served several requests for the one that it got.
func explain(ctx context.Context, err error) {
	for {
		w, ok := ctx.Value(writerKey{}).(*writer)
		if !ok {
			return
		}
		w.meant.CompareAndSwap(nil, &err)
		ctx = w.ctx
	}
}
