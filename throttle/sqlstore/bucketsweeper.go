package sqlstore

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultSweepEvery = time.Hour
	longestSweep      = time.Minute // after which it goes on where it was the next time
	sweepShare        = 5           // it is at work in one part of so many, and leaves the database to others in the rest
)

// sweeper lets a store sweep by itself, beside the requests that it is asked. There is no goroutine but while it does.
type sweeper struct {
	every time.Duration
	begun time.Time
	due   atomic.Int64 // nanoseconds after begun; the largest number while it sweeps, or never does

	mu     sync.Mutex
	closed bool
	cancel context.CancelFunc // of the sweep that is under way
	done   sync.WaitGroup

	last []byte // the bucket at which the last sweep stopped. Only the sweep that is under way may look at it
}

// start begins the time until the first sweep, which is a random one, so that a fleet that starts at once does not sweep at once.
func (s *sweeper) start(every time.Duration) {
	if every == 0 {
		every = defaultSweepEvery
	}
	s.every, s.begun = every, time.Now()
	if every < 0 {
		s.due.Store(math.MaxInt64)
		return
	}
	s.due.Store(1 + rand.Int64N(int64(every)))
}

// nowAndThen starts a sweep if it is due. The caller does not wait for it.
func (s *sweeper) nowAndThen(page func(ctx context.Context, last []byte) (sweepPage, error)) {
	due := s.due.Load()
	if due == math.MaxInt64 || int64(time.Since(s.begun)) < due || !s.due.CompareAndSwap(due, math.MaxInt64) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestSweep)
	s.cancel = cancel
	s.done.Go(func() {
		defer cancel()
		s.sweep(ctx, page)
		// Some do it a little earlier and some later, so that those of a fleet come to be apart.
		s.due.Store(int64(time.Since(s.begun)) + int64(s.every)*3/4 + rand.Int64N(int64(s.every)/2+1))
	})
}

// sweep goes through the buckets, with pauses, until the end or until the context ends. After an error it is tried again the next time: there
// are only more rows until then.
func (s *sweeper) sweep(ctx context.Context, page func(ctx context.Context, last []byte) (sweepPage, error)) {
	for {
		begun := time.Now()
		p, err := page(ctx, s.last)
		if err != nil {
			return
		}
		if s.last = p.last; p.end {
			s.last = nil
			return
		}
		select {
		case <-time.After((sweepShare - 1) * time.Since(begun)):
		case <-ctx.Done():
			return
		}
	}
}

// close ends a sweep that is under way, and waits for it. There is none after it.
func (s *sweeper) close() {
	s.mu.Lock()
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.done.Wait()
}
