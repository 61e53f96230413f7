package bucket

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/internal/remote"
)

// batch is one request to a remote store, for one or more callers. Each caller has a slot: its index in
// order of arrival. The mutex of its part guards it, except that who sends it may read the request, and
// who waits for it may read the result once done is closed.
type batch struct {
	store.Request

	shared   *keyState // of callers who want one token each; nil if there is one caller
	requests int       // requests to the limiter that the call is for
	ahead    int64     // tokens in Max that are fetched ahead; a policy does not grant them

	size  int       // slots
	early []int     // slots whose callers left before the call, sorted
	late  []int     // slots whose callers left during the call, or so far
	since time.Time // when it has entered the line
	sent  bool      // the call has begun
	again bool      // a call was not sent, so that it is made once more

	done   chan struct{} // closed at the end; nil if only the caller who makes the call can be in the batch
	ended  bool          // as done
	answer Decision
	err    error
}

func (b *batch) isEmpty() bool { return len(b.early)+len(b.late) == b.size }

// start prepares the call for those who have not left, and reports whether there are some.
func (b *batch) start(l *Limiter) bool {
	b.sent, b.early, b.late = true, append(b.early, b.late...), nil
	slices.Sort(b.early)
	n := b.size - len(b.early)
	if s := b.shared; s != nil {
		if s.inFlight = true; s.next == b {
			s.next = nil
		}
		b.requests, b.ahead = n, s.leaseRoom(l, &b.Limit)
		b.Max = int64(n) + b.ahead
	}
	return n > 0
}

// position returns the number of callers before a slot that the call was made for.
func (b *batch) position(slot int) int64 {
	before, _ := slices.BinarySearch(b.early, slot)
	return int64(slot - before)
}

// end marks the batch as ended, and returns the tokens that the store granted and that have no caller.
func (b *batch) end() (unused int64) {
	b.ended = true
	if b.done != nil {
		close(b.done)
	}
	switch {
	case b.err != nil || b.answer.Source != SourceStore:
		return 0
	case b.shared == nil:
		return b.answer.Granted * int64(len(b.late))
	}
	unused = max(0, b.answer.Granted-int64(b.requests))
	for _, slot := range b.late {
		if b.position(slot) < b.answer.Granted {
			unused++
		}
	}
	return unused
}

// decision returns the decision for one slot. Slots are served in order of arrival.
func (b *batch) decision(slot int) Decision {
	d := b.answer
	if b.shared == nil {
		return d
	}
	d.Allowed = b.position(slot) < b.answer.Granted
	d.Granted = 0
	if d.Allowed {
		d.Granted, d.RetryAfter = 1, 0
	}
	return d
}

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
