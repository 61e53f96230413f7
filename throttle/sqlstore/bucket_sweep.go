package sqlstore

import (
	"context"
	"database/sql"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// fullFor is how long a bucket must have been full before its row is deleted. So a clock that
	// is set back by less does not add tokens.
	fullFor           = time.Hour
	defaultSweepEvery = time.Hour
	maxSweep          = time.Minute // then the sweep stops, and the next one continues
	sweepPause        = 4           // the pause after a batch is this many times as long as the batch took
)

// Sweep deletes the rows of buckets that have been full for an hour, and returns their number. A
// bucket without a row is full too. Sweep reads all rows of the store in batches of some hundreds,
// so requests do not wait for it. The store also sweeps on its own, as BucketConfig.SweepEvery
// describes. Several processes may sweep at the same time.
func (b *Bucket) Sweep(ctx context.Context) (deleted int64, err error) {
	var batch sweepBatch
	for err == nil && !batch.end {
		batch, err = b.sweepFrom(ctx, batch.last)
		deleted += batch.deleted
	}
	return deleted, err
}

// sweepBatch is the result of one batch of a sweep.
type sweepBatch struct {
	last    []byte   // the last ID of the batch
	full    [][]byte // IDs of full buckets
	deleted int64
	end     bool // no rows follow
}

// sweepFrom deletes the full buckets of the batch that follows an ID. A nil ID is before all
// others.
func (b *Bucket) sweepFrom(ctx context.Context, after []byte) (batch sweepBatch, err error) {
	ids := [][]byte{}
	if after == nil {
		after = []byte{}
		ids = append(ids, after) // the scan begins after the empty ID, so it is deleted by its name
	}
	batch, err = b.scan(ctx, after)
	if ids = append(ids, batch.full...); err == nil && len(ids) > 0 {
		batch.deleted, err = b.deleteFull(ctx, ids)
	}
	if err != nil {
		return sweepBatch{last: after}, stepFailed("sweep", err)
	}
	return batch, nil
}

// scan reads the next rows after an ID.
func (b *Bucket) scan(ctx context.Context, after []byte) (sweepBatch, error) {
	return run(ctx, b, func(ctx context.Context, db querier) (s sweepBatch, err error) {
		s.last = after
		n := 0
		err = eachRow(ctx, db, b.sql.scan, []any{int64(fullFor), b.name, after, rowsPerStatement}, func(rows *sql.Rows) error {
			var full int
			var id []byte
			if err := rows.Scan(&id, &full); err != nil {
				return err
			}
			if s.last = id; full != 0 {
				s.full = append(s.full, id)
			}
			n++
			return nil
		})
		s.end = n < rowsPerStatement
		return s, err
	})
}

// deleteFull deletes the rows of buckets that are still full.
func (b *Bucket) deleteFull(ctx context.Context, ids [][]byte) (int64, error) {
	args := []any{b.name, int64(fullFor)}
	for _, id := range ids {
		args = append(args, id)
	}
	return b.exec(ctx, sql.Result.RowsAffected, b.sql.deleteFull.of(len(ids)), args...)
}

// sweeper runs the sweeps of a store in the background. Requests start them, so there is a
// goroutine only during a sweep.
type sweeper struct {
	every   time.Duration
	created time.Time
	due     atomic.Int64 // nanoseconds after created; the largest number during a sweep, or if sweeps are disabled

	mu     sync.Mutex
	closed bool
	cancel context.CancelFunc // of the current sweep
	done   sync.WaitGroup

	last []byte // the ID at which the last sweep stopped; only the current sweep may use it
}

// start chooses a random time of the first sweep, so that processes that start together do not
// sweep together.
func (s *sweeper) start(every time.Duration) {
	if every == 0 {
		every = defaultSweepEvery
	}
	s.every, s.created = every, time.Now()
	if every < 0 {
		s.due.Store(math.MaxInt64)
		return
	}
	s.due.Store(1 + rand.Int64N(int64(every)))
}

// startIfDue starts a sweep if it is due, and does not wait for it.
func (s *sweeper) startIfDue(batch func(ctx context.Context, last []byte) (sweepBatch, error)) {
	due := s.due.Load()
	if due == math.MaxInt64 || int64(time.Since(s.created)) < due || !s.due.CompareAndSwap(due, math.MaxInt64) {
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
		s.sweep(ctx, batch)
		// The time until the next sweep is random, so that the sweeps of a fleet spread out.
		s.due.Store(int64(time.Since(s.created)) + int64(s.every)*3/4 + rand.Int64N(int64(s.every)/2+1))
	})
}

// sweep runs batches with pauses until the last row, an error, or the end of the context. After an
// error the next sweep continues at the same ID.
func (s *sweeper) sweep(ctx context.Context, batch func(ctx context.Context, last []byte) (sweepBatch, error)) {
	for {
		begun := time.Now()
		r, err := batch(ctx, s.last)
		if err != nil {
			return
		}
		if s.last = r.last; r.end {
			s.last = nil
			return
		}
		select {
		case <-time.After(sweepPause * time.Since(begun)):
		case <-ctx.Done():
			return
		}
	}
}

// close ends the current sweep, and waits for it. No sweep starts after close.
func (s *sweeper) close() {
	s.mu.Lock()
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.done.Wait()
}
