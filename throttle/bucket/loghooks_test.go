package bucket_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

func TestLogHooks_OnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		store := newRemote()
		l := limiter(t, bucket.Config{
			Store: store, Limit: bucket.PerSecond(1), OneByOne: true,
			Hooks: bucket.LogHooks(slog.New(slog.NewTextHandler(&out, nil))),
		})
		_, _ = l.Decide(t.Context(), "k")
		if out.Len() > 0 {
			t.Errorf("logged of a store that answers: %s", out.String())
		}
		store.set(nil, errDown)
		for range 61 { // a failing store is asked about once a second
			_, _ = l.Decide(t.Context(), "k")
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "limiter=test on_failure=local_share error=down suppressed=0") || !strings.Contains(lines[1], "suppressed=59") {
			t.Errorf("logged %q", lines)
		}
	})
}
