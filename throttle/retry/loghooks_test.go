package retry_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

func withoutReserve() retry.Budget { return retry.Budget{Reserve: -1} }

func TestLogHooks_OnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := newRetrier(t, retry.Config{
			Budget: withoutReserve(),
			Hooks:  retry.LogHooks(slog.New(slog.NewTextHandler(&out, nil))),
		})
		accept(t, r, 1)
		_ = r.Do(retry.WithoutRetries(t.Context()), throttle.Medium, func(context.Context) error { return rejected() })
		if out.Len() > 0 {
			t.Errorf("logged of what is normal: %s", out.String())
		}
		for range 61 {
			_ = r.Do(t.Context(), throttle.Medium, func(context.Context) error { return rejected() })
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		const first, second = "level=WARN msg=\"retry: budget is used up\" retry=orders attempt=2 error=busy suppressed=0", "suppressed=59"
		if len(lines) != 2 || !strings.Contains(lines[0], first) || !strings.Contains(lines[1], second) {
			t.Errorf("logged %q", lines)
		}
	})
}

func TestLogHooks_Key(t *testing.T) {
	var out bytes.Buffer
	retriers := throttle.Must(retry.NewGroup(retry.Config{
		Budget: withoutReserve(), Hooks: retry.LogHooks(slog.New(slog.NewTextHandler(&out, nil))),
	}))
	throttles := throttle.Must(throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "tenants", Hooks: retriers.Hooks(throttle.Hooks{})}
	}, throttle.GroupConfig{}))
	r := retriers.Of(throttle.Must(throttles.Get("a")))
	_ = r.Do(t.Context(), throttle.Medium, func(context.Context) error { return rejected() })
	if !strings.Contains(out.String(), "retry=tenants key=a attempt=2") {
		t.Errorf("logged %q", out.String())
	}
}
