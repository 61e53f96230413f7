package bucket

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// timerFrom is the shortest time, in timeouts of the store, that needs no timer: batches end earlier.
const timerFrom = 64

// wait waits for the end of a batch, at most until shortly before the deadline of ctx. If it returns an
// error, the caller has left.
func (p *part) wait(ctx context.Context, l *Limiter, b *batch, slot int) (err error) {
	if patience := remote.Patience(ctx); patience < timerFrom*l.config.StoreTimeout {
		err = await(ctx, b.done, patience)
	} else {
		select {
		case <-b.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		return nil
	}
	return p.leave(b, slot, err)
}

// leave gives up a slot, and returns the error for its caller. It returns nil if the batch has ended.
func (p *part) leave(b *batch, slot int, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case b.ended:
		return nil
	case !b.sent && errors.Is(err, remote.ErrNoAnswer):
		err = remote.ErrBusy
	}
	b.late = append(b.late, slot)
	return err
}

func (p *part) own(b *batch) store.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := b.Request
	if b.shared != nil {
		r.Max = 1
	}
	return r
}

// await waits until done is closed. It returns an error if it is not after this time, or ctx ends.
func await(ctx context.Context, done <-chan struct{}, length time.Duration) error {
	w := remote.NewWait(length)
	defer w.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-w.C:
			if w.Over(ctx) {
				return remote.ErrNoAnswer
			}
		}
	}
}
