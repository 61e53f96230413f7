package retry_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
	"github.com/spillway-go/spillway/throttle/retry"
)

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[retry.Hooks]{
		Join: retry.JoinHooks, Set: retry.SetDefaultHooks, Get: retry.DefaultHooks,
		Create: func(h retry.Hooks) { _ = throttle.Must(retry.New(retry.Config{Name: "x", Hooks: h})).Close() },
	}.Check(t)
}

func TestLogHooks_ForgetClosedRetriers(t *testing.T) {
	hooktest.Collected(t, retry.LogHooks(slog.New(slog.DiscardHandler)), func(h retry.Hooks) *retry.Retrier {
		r := throttle.Must(retry.New(retry.Config{Name: "x", Budget: withoutReserve(), Hooks: h}))
		_ = r.Do(t.Context(), throttle.Medium, func(context.Context) error { return rejected() })
		_ = r.Close()
		return r
	})
}
