package sqlstore

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// batches counts the batches of sweeps, and the most that ran at once. A sweep has a number of batches, and each takes a while.
type batches struct {
	all, calls   int
	takes        time.Duration
	err          error
	busy, atOnce int
	seen         []byte
}

func (p *batches) next(ctx context.Context, last []byte) (sweepBatch, error) {
	p.busy++
	p.atOnce = max(p.atOnce, p.busy)
	p.calls++
	defer func() { p.busy-- }()
	select {
	case <-time.After(p.takes):
	case <-ctx.Done():
		return sweepBatch{last: last}, ctx.Err()
	}
	n := byte(1)
	if last != nil {
		n = last[0] + 1
	}
	p.seen = append(p.seen, n)
	return sweepBatch{last: []byte{n}, end: int(n) == p.all}, p.err
}

// requestsFor starts a sweep if one is due, once per interval.
func (s *sweeper) requestsFor(d, every time.Duration, p *batches) {
	for range d / every {
		<-time.After(every)
		s.startIfDue(p.next)
		synctest.Wait()
	}
}

func TestSweeperInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &batches{all: 3, takes: time.Millisecond}
		var s sweeper
		s.start(0)
		s.requestsFor(100*time.Hour, time.Minute, p)
		if sweeps := p.calls / 3; sweeps < 75 || sweeps > 125 || p.atOnce != 1 {
			t.Errorf("got %d batches of three per sweep, %d at once, in 100 hours: want about a sweep per hour, one at once", p.calls, p.atOnce)
		}
		s.close()
		s.close()
		calls := p.calls
		s.requestsFor(10*time.Hour, time.Minute, p)
		if p.calls != calls {
			t.Errorf("got %d batches after it was closed want none", p.calls-calls)
		}
	})
}

func TestSweeperDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &batches{all: 1}
		var s sweeper
		s.start(-1)
		s.requestsFor(100*time.Hour, time.Hour, p)
		if s.close(); p.calls != 0 || s.due.Load() != math.MaxInt64 {
			t.Errorf("got %d sweeps want none", p.calls)
		}
	})
}

// TestSweeperContinues has more buckets than one sweep has time for. The next sweep continues there.
func TestSweeperContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &batches{all: 100, takes: time.Second}
		var s sweeper
		s.start(10 * time.Minute)
		s.requestsFor(10*time.Hour, time.Minute, p)
		s.close()
		for i, n := range p.seen {
			if int(n) != i%100+1 {
				t.Fatalf("batch %d: got %d want %d", i, n, i%100+1)
			}
		}
		// A minute has place for 12 batches of a second and pauses of four.
		if sweeps := 10 * time.Hour / (10 * time.Minute); len(p.seen) < 8*int(sweeps) || len(p.seen) > 17*int(sweeps) {
			t.Errorf("got %d batches in %d sweeps want about 12 in each", len(p.seen), sweeps)
		}
	})
}

func TestSweeperClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &batches{all: 1, takes: time.Hour}
		var s sweeper
		s.start(1)
		<-time.After(time.Second)
		s.startIfDue(p.next)
		synctest.Wait()
		if p.busy != 1 {
			t.Fatalf("got %d sweeps under way want 1", p.busy)
		}
		begun := time.Now()
		if s.close(); time.Since(begun) != 0 || p.busy != 0 {
			t.Errorf("close took %v, and left %d under way want neither", time.Since(begun), p.busy)
		}
	})
}

func TestSweeperError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &batches{all: 9, takes: time.Millisecond, err: errors.New("no such table")}
		var s sweeper
		s.start(time.Hour)
		s.requestsFor(100*time.Hour, time.Minute, p)
		if s.close(); p.calls < 75 || p.calls > 125 {
			t.Errorf("got %d attempts in 100 hours want about one per hour", p.calls)
		}
	})
}
