package sqlstore

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// fullFor is how long a bucket must have been full before it is forgotten. A clock that steps back by less mints nothing.
const fullFor = time.Hour

// Sweep deletes the rows of buckets that have been full for an hour, which is as good as having them, and returns how many there were. It
// looks at all rows of the store, some hundreds at once, so that nobody waits for it. A store does so by itself, a little at a time: see
// BucketConfig.SweepEvery. Any number of processes may sweep at once.
func (b *Bucket) Sweep(ctx context.Context) (deleted int64, err error) {
	var p sweepBatch
	for err == nil && !p.end {
		p, err = b.sweepFrom(ctx, p.last)
		deleted += p.deleted
	}
	return deleted, err
}

// sweepBatch is what a step of a sweep has done.
type sweepBatch struct {
	last    []byte // of the buckets that it looked at
	deleted int64
	end     bool // there are none after these
}

// sweepFrom looks at the next few buckets, and deletes those that are full. A nil id is before all others.
func (b *Bucket) sweepFrom(ctx context.Context, after []byte) (p sweepBatch, err error) {
	ids := [][]byte{}
	if after == nil {
		after = []byte{}
		ids = append(ids, after) // the empty key is not after any other, so it is deleted by its name, if it is full
	}
	f, err := b.scanBuckets(ctx, after)
	if ids = append(ids, f.full...); err == nil && len(ids) > 0 {
		p.deleted, err = b.forget(ctx, ids)
	}
	if err != nil {
		return sweepBatch{last: after}, failed("sweep", err)
	}
	p.last, p.end = f.last, f.n < rowsPerStatement
	return p, nil
}

// found are buckets that a sweep has looked at.
type found struct {
	full [][]byte // those that are
	n    int
	last []byte
}

// scanBuckets looks at the next few buckets.
func (b *Bucket) scanBuckets(ctx context.Context, after []byte) (found, error) {
	var f found
	err := b.ask(ctx, func(ctx context.Context, db querier) error {
		f = found{last: after}
		rows, err := db.QueryContext(ctx, b.sql.full, int64(fullFor), b.name, after, rowsPerStatement)
		if err != nil {
			return err
		}
		defer rows.Close()
		for ; rows.Next(); f.n++ {
			var full int
			var id []byte
			if err := rows.Scan(&id, &full); err != nil {
				return err
			}
			if f.last = id; full != 0 {
				f.full = append(f.full, id)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return found{}, err
	}
	return f, nil
}

// forget deletes buckets, but for those that somebody has used meanwhile.
func (b *Bucket) forget(ctx context.Context, ids [][]byte) (int64, error) {
	args := []any{b.name, int64(fullFor)}
	for _, id := range ids {
		args = append(args, id)
	}
	return b.change(ctx, b.dialect.bind(b.sql.forget+commaList("?", len(ids))+")"), args...)
}

const (
	defaultSweepEvery = time.Hour
	maxSweep          = time.Minute // after which it goes on where it was the next time
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

// startIfDue starts a sweep if it is due. The caller does not wait for it.
func (s *sweeper) startIfDue(page func(ctx context.Context, last []byte) (sweepBatch, error)) {
	due := s.due.Load()
	if due == math.MaxInt64 || int64(time.Since(s.begun)) < due || !s.due.CompareAndSwap(due, math.MaxInt64) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxSweep)
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
func (s *sweeper) sweep(ctx context.Context, page func(ctx context.Context, last []byte) (sweepBatch, error)) {
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
