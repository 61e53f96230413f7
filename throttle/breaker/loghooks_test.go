package breaker_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestLogHooks: a line for each change, for each change of the leader, and of what fails one a minute.
func TestLogHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "term" {
				return slog.Attr{}
			}
			return a
		}}))
		m := breaker.Must(breaker.New(breaker.Config{Name: "hooks", Poll: polls(func() results { return nil }), Hooks: breaker.LogHooks(logger)}))
		must(t, m.Disable(t.Context(), breaker.Key{Tenant: "acme", ID: "k"}))
		for range 4 {
			_ = m.Sample(t.Context())
			time.Sleep(25 * time.Second)
		}
		running(t, m)
		time.Sleep(time.Second)
		_ = m.Close()
		synctest.Wait()
		want := []string{
			`level=WARN msg="breaker: circuit changed" breaker=hooks tenant=acme key=k from=closed to=disabled reason=by_hand trips=0 failures=0 successes=0 shadow=false`,
			`level=WARN msg="breaker: background task failed" breaker=hooks failure=poll error=boom suppressed=0`,
			`level=WARN msg="breaker: background task failed" breaker=hooks failure=poll error=boom suppressed=2`,
			`level=INFO msg="breaker: became leader" breaker=hooks`,
			`level=INFO msg="breaker: no longer leader" breaker=hooks`,
		}
		equals(t, strings.TrimSpace(out.String()), strings.Join(want, "\n"), "the log")
	})
}

// TestLogHooksTellManagersApart: what one has failed at already is news of another.
func TestLogHooksTellManagersApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		hooks := breaker.LogHooks(slog.New(slog.NewTextHandler(&out, nil)))
		for _, name := range []string{"one", "two"} {
			m := breaker.Must(breaker.New(breaker.Config{Name: name, Poll: polls(func() results { return nil }), Hooks: hooks}))
			_, _ = m.Sample(t.Context()), m.Sample(t.Context())
			_ = m.Close()
		}
		for _, name := range []string{"one", "two"} {
			equals(t, strings.Count(out.String(), `msg="breaker: background task failed" breaker=`+name), 1, "%s: lines", name)
		}
	})
}
