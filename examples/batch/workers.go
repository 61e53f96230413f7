package main

import (
	"context"
	"sync"
)

// workers are those of a job. Each writes one item after the other, and tries again with one that was throttled.
type workers struct {
	stop context.CancelFunc
	all  sync.WaitGroup
}

// start lets so many workers work until their context ends, in one of the ways to write, which says whether to go on. Whether an item was written is for
// the table to know.
func start(ctx context.Context, n int, write func(context.Context) (more bool)) *workers {
	ctx, stop := context.WithCancel(ctx)
	w := &workers{stop: stop}
	for range n {
		w.all.Go(func() {
			for ctx.Err() == nil && write(ctx) {
				continue
			}
		})
	}
	return w
}

// end ends their work, and waits until they have gone.
func (w *workers) end() {
	w.stop()
	w.all.Wait()
}
