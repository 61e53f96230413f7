package main

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// take takes as many units as there are at once, up to some.
func take(t *table, most int) (taken int, err error) {
	for ; taken < most; taken++ {
		if _, err = t.serve(time.Now()); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

func TestTableBearsItsCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(800, 0, 1)
		if got, _ := take(table, 100); got != 40 {
			t.Errorf("saved up at first: got %d want 40, those of %v", got, creditFor)
		}
		first := table.mark()
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			if got, _ := take(table, 100); got != 8 {
				t.Errorf("in 10 ms: got %d want 8", got)
			}
		}
		time.Sleep(time.Minute)
		if got, _ := take(table, 100); got != 40 {
			t.Errorf("after a minute: got %d want 40", got)
		}
		was := table.mark().since(first)
		if was.written != 840 || was.throttled != 101 || math.Abs(was.units-800*61) > 1e-6 {
			t.Errorf("got %+v want 840 written, 101 throttled, 48,800 units", was)
		}
	})
}

// TestThrottledIsKnown: a backoff knows what the table says, and whoever is told when to come again finds a unit then.
func TestThrottledIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(200, 0, 1)
		advised, plain := 0, 0
		for range 1000 {
			_, err := take(table, 100)
			if !faults.IsResourceExhausted(err) {
				t.Fatalf("throttled: got error %v want a quota's", err)
			}
			failure, ok := faults.AsUnavailable(err)
			if !ok {
				plain++
				if got := backoff.Classify(err); got != backoff.Throttled {
					t.Fatalf("without advice: got %v want Throttled", got)
				}
				time.Sleep(time.Millisecond)
				continue
			}
			advised++
			delay := failure.RetryInfo.RetryDelay
			if got := backoff.Classify(err); got != backoff.ThrottledFor(delay) || delay <= 0 || delay > 5*time.Millisecond {
				t.Fatalf("advice: got %v, %d want ThrottledFor up to 5 ms", delay, got)
			}
			time.Sleep(delay + time.Nanosecond)
			if got, _ := take(table, 1); got != 1 {
				t.Fatalf("%v later: got %d units want one", delay, got)
			}
		}
		if advised < 60 || advised > 140 {
			t.Errorf("advised: got %d of %d want about a tenth", advised, advised+plain)
		}
	})
}

func TestTableGrowsOnceIfItIsUsedWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(100, time.Second, 1)
		use := func(n int) {
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				if _, err := table.serve(time.Now()); err == nil {
					n--
				}
				if n <= 0 {
					break
				}
			}
			synctest.Wait()
		}
		capacity := func() float64 { table.mark(); return table.provisioned() }
		use(50)
		time.Sleep(time.Second)
		if got := capacity(); got != 100 {
			t.Errorf("used by a quarter: got %v want 100", got)
		}
		use(100)
		if got := capacity(); got != 200 {
			t.Errorf("used well: got %v want 200", got)
		}
		select {
		case <-table.grown:
		default:
			t.Error("grown: got no word of it")
		}
		use(200)
		use(200)
		if got := capacity(); got != 200 {
			t.Errorf("used well again: got %v want 200 still", got)
		}
	})
}

func TestProvision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(1000, time.Second, 1)
		table.provision(500)
		if got, _ := take(table, 100); got != 25 {
			t.Errorf("halved: got %d saved up want 25", got)
		}
		table.provision(50)
		time.Sleep(time.Minute)
		if got, _ := take(table, 100); got != leastCredit {
			t.Errorf("small: got %d saved up want %d", got, leastCredit)
		}
		table.provision(math.Inf(1))
		if got, err := take(table, 1e5); err != nil {
			t.Errorf("on demand: got error %v after %d", err, got)
		}
		time.Sleep(time.Second)
		if got, err := take(table, 1e5); err != nil || table.provisioned() != math.Inf(1) {
			t.Errorf("on demand, later: got error %v after %d", err, got)
		}
	})
}

func TestWriteEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		table := newTable(100, 0, 1)
		if err := table.write(ctx); err != nil || time.Since(begun) < shortestWrite || time.Since(begun) > longestWrite {
			t.Errorf("write: got error %v after %v", err, time.Since(begun))
		}
		cancel()
		begun = time.Now()
		if err := table.write(ctx); !errors.Is(err, context.Canceled) || time.Since(begun) > 0 {
			t.Errorf("after the end: got error %v after %v want context.Canceled at once", err, time.Since(begun))
		}
	})
}

// provisioned returns the capacity.
func (t *table) provisioned() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.capacity
}
