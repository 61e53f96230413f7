package backoff_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[backoff.Hooks]{
		Join: backoff.JoinHooks, Set: backoff.SetDefaultHooks, Get: backoff.DefaultHooks,
		Create: func(h backoff.Hooks) { _ = backoff.Must(backoff.New(backoff.Config{Name: "x", Hooks: h})).Close() },
	}.Check(t)
}

// TestLogHooks_releaseClosed backoffs, also if one of their calls ends later.
func TestLogHooks_releaseClosed(t *testing.T) {
	var log lines
	hooktest.Collected(t, log.hooks(), func(h backoff.Hooks) *backoff.Responsive {
		r := backoff.Must(backoff.New(backoff.Config{Name: "x", InitialInterval: time.Second, MaxInterval: time.Second, Hooks: h}))
		wait(t, r).Finish(backoff.Throttled)
		_ = r.Close()
		r.Reset()
		return r
	})
}
