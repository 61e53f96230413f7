package retry_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
	"github.com/spillway-go/spillway/throttle/retry"
)

func recordInto(events *[]string) retry.Hooks {
	add := func(text string) { *events = append(*events, text) }
	return retry.Hooks{
		Announced: func(name string) { add("announced " + name) },
		Created:   func(r *retry.Retrier) { add("created " + r.Name()) },
		Closed:    func(r *retry.Retrier) { add("closed " + r.Name()) },
		Retried: func(ctx context.Context, e retry.SentEvent) {
			add(e.String())
			if !errors.Is(e.Err, errBusy) || retry.FromContext(ctx).Number != e.Attempt {
				add("with another error or context")
			}
		},
		Denied: func(_ context.Context, e retry.DenyEvent) {
			add(e.String())
			if !errors.Is(e.Err, errBusy) {
				add("with another error")
			}
		},
		Arrived: func(_ context.Context, e retry.ArrivalEvent) { add(e.String()) },
	}
}

func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		h := recordInto(&events)
		r := newRetrier(t, retry.Config{Budget: generous(), Attempts: 2, Hooks: h})
		reject := func(context.Context) error { return rejected() }
		accept(t, r, 1)
		_ = r.Do(t.Context(), throttle.Medium, reject)
		_ = r.Close()
		_ = r.Close()
		_ = r.Do(t.Context(), throttle.Medium, reject) // still retried, without hooks
		h.Arrived(t.Context(), retry.ArrivalEvent{Name: "shop", Attempt: 2})
		want := []string{
			"created orders", "retry orders: attempt 2 after 25ms", "retry orders: no attempt 3: attempts", "closed orders",
			"retry shop: attempt 2 arrived",
		}
		if !slices.Equal(events, want) || r.Stats().Sent != 2 {
			t.Errorf("got %q, %d retries want %q, 2", events, r.Stats().Sent, want)
		}
	})
}

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
