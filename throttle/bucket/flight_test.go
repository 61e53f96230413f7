package bucket_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestAnyNumberIsAskedForTogether: all who come while the store is being asked are answered by the next answer.
func TestAnyNumberIsAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 6000, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		var allowed, refused atomic.Int64
		var all sync.WaitGroup
		for range 10_000 {
			all.Go(func() {
				d, err := l.Allow(t.Context(), "k")
				switch {
				case err != nil:
					t.Error(err)
				case d.Allowed:
					allowed.Add(1)
				default:
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		close(gate)
		all.Wait()
		if allowed.Load() != 6000 || refused.Load() != 4000 || store.calls.Load() != 2 {
			t.Errorf("%d allowed, %d denied by %d calls", allowed.Load(), refused.Load(), store.calls.Load())
		}
	})
}

// TestTokensOfThoseWhoLeftGoBack also if they left while the store was being asked.
func TestTokensOfThoseWhoLeftGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 100, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		ctx, leave := context.WithCancel(t.Context())
		for i := range 50 {
			who := t.Context()
			if i%2 == 0 {
				who = ctx
			}
			go func() {
				if d, err := l.Allow(who, "k"); (err == nil) != (who != ctx) || d.Allowed != (who != ctx) {
					t.Errorf("%+v, %v", d, err)
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining != 75 {
			t.Errorf("%+v, %v: want 75 left of 100, for 25 stayed", d, err)
		}
	})
}

// TestAStoreThatFailsIsLeftAlone for a while, in which the policy decides at once, and is asked again when it may be well.
func TestAStoreThatFailsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(make(chan struct{}), nil) // frozen
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Every(time.Hour), OnFailure: bucket.FailClosed})
		begun := time.Now()
		for range 10 {
			if _, err := l.Allow(t.Context(), "k"); !errors.Is(err, bucket.ErrStore) {
				t.Errorf("got %v", err)
			}
		}
		if waited := time.Since(begun); waited != 150*time.Millisecond || store.calls.Load() != 3 {
			t.Errorf("waited %v, %d calls, want thrice the timeout", waited, store.calls.Load())
		}
		store.set(nil, nil)
		time.Sleep(250 * time.Millisecond)
		if d, err := l.Allow(t.Context(), "k"); err != nil || !d.Allowed || d.Source != bucket.FromStore {
			t.Errorf("once it has thawed: %+v, %v", d, err)
		}
	})
}

// deaf is a store that heeds no context, or panics.
type deaf struct {
	bucket.Store
	gate chan struct{}
}

func (d deaf) Take(context.Context, bucket.Request) (bucket.Decision, error) {
	if d.gate == nil {
		panic("boom")
	}
	<-d.gate
	return bucket.Decision{}, nil
}

func TestAStoreThatIsDeafOrPanicsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		for name, store := range map[string]deaf{"deaf": {gate: gate}, "panics": {}} {
			for _, oneByOne := range []bool{false, true} {
				l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(1), OneByOne: oneByOne})
				begun := time.Now()
				d, err := l.Allow(t.Context(), "k")
				if err != nil || !d.Allowed || d.Source != bucket.FromPolicy || time.Since(begun) > 50*time.Millisecond {
					t.Errorf("%s, one by one %t: %+v, %v after %v", name, oneByOne, d, err, time.Since(begun))
				}
			}
		}
	})
}

// slow is a store that heeds no context, and answers in the end.
type slow struct {
	bucket.Store
	gate chan struct{}
}

func (s slow) Take(_ context.Context, r bucket.Request) (bucket.Decision, error) {
	<-s.gate
	return s.Store.Take(context.Background(), r)
}

// TestWhatIsGrantedTooLateGoesBack also for requests that are not asked for together.
func TestWhatIsGrantedTooLateGoesBack(t *testing.T) {
	for _, oneByOne := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			memory, gate := bucket.NewMemoryStore(), make(chan struct{})
			limit := bucket.Limit{Capacity: 10, Refill: 1, Period: time.Hour}
			l := limiter(t, bucket.Config{Store: slow{memory, gate}, Limit: limit, OneByOne: oneByOne, OnFailure: bucket.FailClosed})
			if _, err := l.Allow(t.Context(), "k"); !errors.Is(err, bucket.ErrStore) {
				t.Errorf("got %v", err)
			}
			close(gate)
			synctest.Wait()
			if d, err := memory.Take(t.Context(), bucket.Request{Key: "k", Limit: limit.WithDefaults()}); err != nil || d.Remaining != 10 {
				t.Errorf("%+v, %v, want a full bucket", d, err)
			}
		})
	}
}

// prompt is a store that heeds contexts, and says so.
type prompt struct{ *remote }

func (prompt) Prompt() bool { return true }

// TestAPromptStoreIsAskedByWhoeverAsks and may panic all the same.
func TestAPromptStoreIsAskedByWhoeverAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		l := limiter(t, bucket.Config{Store: prompt{store}, Limit: bucket.PerSecond(3), OnFailure: bucket.FailClosed})
		if d, err := l.Allow(t.Context(), "k"); err != nil || !d.Allowed {
			t.Errorf("%+v, %v", d, err)
		}
		store.set(make(chan struct{}), nil)
		begun := time.Now()
		if _, err := l.Allow(t.Context(), "k"); !errors.Is(err, bucket.ErrStore) || time.Since(begun) != 50*time.Millisecond {
			t.Errorf("frozen: %v after %v", err, time.Since(begun))
		}
		store.set(nil, nil)
		store.Store = nil // a nil dereference
		for range 2 {
			if _, err := l.Allow(t.Context(), "k"); !errors.Is(err, bucket.ErrStore) {
				t.Errorf("a panic: %v", err)
			}
		}
	})
}

// TestAPanicOfAHookHoldsNobodyUp: a panic of a hook holds up all who come later.
func TestAPanicOfAHookHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		l := limiter(t, bucket.Config{Store: newRemote(), Limit: bucket.PerSecond(10), Hooks: bucket.Hooks{Asked: func(context.Context, bucket.StoreEvent) {
			if first {
				first = false
				panic("hook")
			}
		}}})
		func() {
			defer func() { _ = recover() }() // as net/http does
			_, _ = l.Allow(t.Context(), "k")
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if d, err := l.Allow(ctx, "k"); err != nil || !d.Allowed {
			t.Errorf("%+v, %v; asking %d", d, err, l.Stats().Asking)
		}
	})
}

// TestWhoLeftTakesNoTokenFromWhoStayed: a seat of one who has left is not given to one who stayed.
func TestWhoLeftTakesNoTokenFromWhoStayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gate := newRemote(), make(chan struct{})
		store.set(gate, nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.Limit{Capacity: 2, Refill: 1, Period: time.Hour}, StoreTimeout: time.Minute})
		go func() { _, _ = l.Allow(t.Context(), "k") }()
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		go func() { _, _ = l.Allow(ctx, "k") }()
		synctest.Wait()
		stays := make(chan bucket.Decision)
		go func() { d, _ := l.Allow(t.Context(), "k"); stays <- d }()
		synctest.Wait()
		leave()
		synctest.Wait()
		close(gate)
		if d := <-stays; !d.Allowed {
			t.Errorf("%+v: two tokens for two who stayed", d)
		}
	})
}

// TestTheFirstRestIsTheShortest: callers at the same time make the first rest the longest.
func TestTheFirstRestIsTheShortest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote()
		store.set(make(chan struct{}), nil)
		l := limiter(t, bucket.Config{Store: store, Limit: bucket.PerSecond(100), OneByOne: true})
		for range 64 {
			go func() { _, _ = l.Allow(t.Context(), "k") }()
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		store.set(nil, nil)
		time.Sleep(250 * time.Millisecond)
		if d, _ := l.Allow(t.Context(), "k"); d.Source != bucket.FromStore {
			t.Errorf("%+v: not asked 250 ms after it has failed", d)
		}
	})
}

// TestClosedMayClose: a hook that closes.
func TestClosedMayClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bucket.Must(bucket.New(bucket.Config{Name: "x", Limit: bucket.PerSecond(1), Hooks: bucket.Hooks{Closed: func(l *bucket.Limiter) { _ = l.Close() }}}))
		done := make(chan struct{})
		go func() { _ = l.Close(); close(done) }()
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Fatal("Close hangs")
		}
	})
}
