package bucket_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// cold is a store that must be warmed, and that has a bad setting.
type cold struct {
	*remote
	warmed int
}

func (c *cold) Warm(context.Context) error { c.warmed++; return c.err }

func (c *cold) Check() error { return errDown }

func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &cold{remote: newRemote()}
		l := limiter(t, bucket.Config{Store: s, Limit: bucket.PerSecond(1)})
		if err := l.Warm(t.Context()); err != nil || s.warmed != 1 || s.calls.Load() != 0 {
			t.Errorf("got %v, warmed %d times, %d calls", err, s.warmed, s.calls.Load())
		}
		s.set(nil, errDown)
		if err := l.Warm(t.Context()); !errors.Is(err, bucket.ErrStore) || !errors.Is(err, errDown) {
			t.Errorf("a store that fails: %v", err)
		}
		plain := newRemote()
		l = limiter(t, bucket.Config{Store: plain, Limit: bucket.PerSecond(1)})
		if err := l.Warm(t.Context()); err != nil || plain.calls.Load() != 1 {
			t.Errorf("a store without Warm: %v, %d calls, want one", err, plain.calls.Load())
		}
		if d, err := l.Decide(t.Context(), ""); err != nil || !d.Allowed {
			t.Errorf("after Warm: %+v, %v, want a full bucket", d, err)
		}
		plain.set(make(chan struct{}), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Warm(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a store that hangs: %v", err)
		}
		if err := limiter(t, bucket.Config{Limit: bucket.PerSecond(1)}).Warm(t.Context()); err != nil {
			t.Errorf("a store in memory: %v", err)
		}
		if err := (*bucket.Limiter)(nil).Warm(t.Context()); err == nil {
			t.Error("a nil limiter: no error")
		}
	})
}

// TestHooks_Warned checks that a bad setting is reported once, and that a panic of the hook is
// counted.
func TestHooks_Warned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		l := limiter(t, bucket.Config{Store: &cold{remote: newRemote()}, Limit: bucket.PerSecond(9), Hooks: h.hooks()})
		for range 3 {
			_, _ = l.Decide(t.Context(), "k")
		}
		if len(h.warned) != 1 || !errors.Is(h.warned[0], errDown) {
			t.Errorf("warned of %v, want one error", h.warned)
		}
		l = limiter(t, bucket.Config{Store: &cold{remote: newRemote()}, Limit: bucket.PerSecond(9), Hooks: bucket.Hooks{
			StoreWarned: func(l *bucket.Limiter, _ error) { l.Allow(context.Background(), "w") },
		}})
		if !l.Allow(t.Context(), "k") || l.Stats().Tokens != 2 {
			t.Errorf("a hook that asks for a token: got %d tokens want 2", l.Stats().Tokens)
		}
		l = limiter(t, bucket.Config{Store: &cold{remote: newRemote()}, Limit: bucket.PerSecond(9), Hooks: bucket.Hooks{
			StoreWarned: func(*bucket.Limiter, error) { panic("boom") },
		}})
		if d, err := l.Decide(t.Context(), "k"); err != nil || !d.Allowed || l.Stats().HookPanics != 1 {
			t.Errorf("a hook that panics: %+v, %v, %d panics", d, err, l.Stats().HookPanics)
		}
	})
}
