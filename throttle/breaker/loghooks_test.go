package breaker_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestLogHooks: a line for each change, and of what fails one a minute.
func TestLogHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			return nil, errBoom
		}
		m := breaker.Must(breaker.New(breaker.Config{Name: "hooks", Poll: poll, Hooks: breaker.LogHooks(logger)}))
		if err := m.Disable(t.Context(), breaker.Key{Tenant: "acme", ID: "k"}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			_ = m.Sample(t.Context())
			time.Sleep(25 * time.Second)
		}
		want := []string{
			`level=WARN msg="circuit changed" breaker=hooks tenant=acme key=k from=closed to=disabled reason=by_hand trips=0 failures=0 successes=0 dry_run=false`,
			`level=WARN msg="breaker failed" breaker=hooks failure=poll error=boom more=0`,
			`level=WARN msg="breaker failed" breaker=hooks failure=poll error=boom more=2`,
		}
		if got := strings.TrimSpace(out.String()); got != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
		}
	})
}
