package breaker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var errStore = errors.New("store")

func TestTheGuardLetsAFailingStoreRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Must(New(Config{Name: "x"}))
		calls := 0
		var answer error
		try := func() error {
			_, err := ask(t.Context(), m.store, func(context.Context, Store) (int, error) { calls++; return 0, answer })
			return err
		}
		for _, err := range []error{errStore, errStore, nil, errStore, errStore, ErrConflict, errStore, errStore, ErrFenced} {
			answer = err
			if got := try(); !errors.Is(got, err) {
				t.Fatalf("got %v, want %v", got, err)
			}
		}
		answer = errStore
		for range failuresToRest {
			_ = try()
		}
		for _, rest := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second} {
			time.Sleep(rest - 1)
			before := calls
			if err := try(); !errors.Is(err, errResting) || calls != before {
				t.Errorf("just before %v: %v, %d calls", rest, err, calls-before)
			}
			time.Sleep(time.Nanosecond)
			if err := try(); !errors.Is(err, errStore) {
				t.Errorf("after %v: %v", rest, err)
			}
		}
		time.Sleep(longestRest)
		answer = nil
		if err := try(); err != nil {
			t.Errorf("a store that has come back: %v", err)
		}
		if err := try(); err != nil {
			t.Errorf("and once more: %v", err)
		}
	})
}

// TestTheGuardWaitsForNobody: not even for a store that ignores its context, of whose calls it leaves only so many behind.
func TestTheGuardWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Must(New(Config{Name: "x"}))
		thaw := make(chan struct{})
		var calls atomic.Int64
		begun := time.Now()
		for range 2 * mostAbandoned {
			_, err := ask(t.Context(), m.store, func(context.Context, Store) (int, error) { calls.Add(1); <-thaw; return 0, nil })
			if err == nil {
				t.Fatal("a frozen store has answered")
			}
			time.Sleep(longestRest)
		}
		if calls.Load() != mostAbandoned {
			t.Errorf("%d calls left behind, want %d", calls.Load(), mostAbandoned)
		}
		if waited := time.Since(begun) - 2*mostAbandoned*longestRest; waited != mostAbandoned*defaultStoreTimeout {
			t.Errorf("waited %v in all, want %v", waited, mostAbandoned*defaultStoreTimeout)
		}
		close(thaw)
		synctest.Wait()
		if _, err := ask(t.Context(), m.store, func(context.Context, Store) (int, error) { return 0, nil }); err != nil {
			t.Errorf("after it came back: %v", err)
		}
	})
}

func TestTheGuardKnowsWhoseFaultItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := Must(New(Config{Name: "x"}))
		for range 2 * failuresToRest {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := ask(ctx, m.store, func(ctx context.Context, _ Store) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if _, err := ask(ctx, m.store, func(context.Context, Store) (int, error) { t.Error("asked for somebody who has left"); return 0, nil }); err == nil {
				t.Error("an ended context made no error")
			}
		}
		if _, err := ask(t.Context(), m.store, func(context.Context, Store) (int, error) { panic("boom") }); err == nil {
			t.Errorf("a panic is %v", err)
		}
		if got := m.Stats().Failures[StoreFailed]; got != 1 {
			t.Errorf("%d failures of the store, want the panic alone", got)
		}
	})
}
