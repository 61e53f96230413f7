package bucket_test

import (
	"log/slog"
	"testing"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[bucket.Hooks]{
		Join: bucket.JoinHooks, Set: bucket.SetDefaultHooks, Get: bucket.DefaultHooks,
		Create: func(h bucket.Hooks) { _ = limiter(t, bucket.Config{Limit: bucket.PerSecond(1), Hooks: h}).Close() },
	}.Check(t)
}

// TestLogHooks_ForgetClosedLimiters, even if they are used after Close.
func TestLogHooks_ForgetClosedLimiters(t *testing.T) {
	hooktest.Collected(t, bucket.LogHooks(slog.New(slog.DiscardHandler)), func(h bucket.Hooks) *bucket.Limiter {
		l := bucket.Must(bucket.New(bucket.Config{Name: "x", Limit: bucket.PerSecond(1), Store: newFailing(), Hooks: h}))
		_ = l.Close()
		_, _ = l.Decide(t.Context(), "k")
		return l
	})
}
