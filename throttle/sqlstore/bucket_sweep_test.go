package sqlstore

import (
	"context"
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

// TestSweeper_requests sends requests for 100 hours, and some more after the store was closed.
func TestSweeper_requests(t *testing.T) {
	for name, tt := range map[string]struct {
		every       time.Duration
		p           batches
		least, most int // batches
	}{
		"once an hour":   {0, batches{all: 3, takes: time.Millisecond}, 3 * 75, 3 * 125},
		"never":          {-1, batches{all: 1}, 0, 0},
		"after an error": {time.Hour, batches{all: 9, takes: time.Millisecond, err: errBroken}, 75, 125},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &tt.p
			var s sweeper
			s.start(tt.every)
			s.requestsFor(100*time.Hour, time.Minute, p)
			if p.calls < tt.least || p.calls > tt.most || p.atOnce > 1 {
				t.Errorf("%s: got %d batches, %d at once, want %d to %d, one at once", name, p.calls, p.atOnce, tt.least, tt.most)
			}
			s.close()
			s.close()
			calls := p.calls
			s.requestsFor(10*time.Hour, time.Minute, p)
			equals(t, p.calls, calls, "%s: batches after it was closed", name)
		})
	}
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
		equals(t, p.busy, 1, "sweeps under way")
		begun := time.Now()
		if s.close(); time.Since(begun) != 0 || p.busy != 0 {
			t.Errorf("close took %v, and left %d under way want neither", time.Since(begun), p.busy)
		}
	})
}
