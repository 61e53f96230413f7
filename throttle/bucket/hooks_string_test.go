package bucket_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestText compares the texts of events, limits and log records.
func TestText(t *testing.T) {
	l := limiter(t, bucket.Config{Name: "mail", Limit: bucket.PerSecond(1)})
	down := errors.New("down")
	long := strings.Repeat("k", 100)
	for want, value := range map[string]fmt.Stringer{
		`bucket mail: store answered after 2ms, for 3 requests`:                       bucket.StoreEvent{Limiter: l, Duration: 2 * time.Millisecond, Requests: 3},
		`bucket mail: store failed after 50ms, for 1 requests: down`:                  bucket.StoreEvent{Limiter: l, Duration: 50 * time.Millisecond, Requests: 1, Err: down},
		`bucket mail: denied 1 tokens of "ann", retry after 1s (source store)`:        bucket.DenialEvent{Limiter: l, Key: "ann", Tokens: 1, RetryAfter: time.Second},
		`bucket mail: denied 2 tokens of "ann": down`:                                 bucket.DenialEvent{Limiter: l, Key: "ann", Tokens: 2, Err: down},
		`bucket mail: waited 3s for 2 tokens of "ann"`:                                bucket.WaitEvent{Limiter: l, Key: "ann", Tokens: 2, Duration: 3 * time.Second},
		`bucket : waited 0s for 0 tokens of "` + long[:64] + `"... (100 bytes): down`: bucket.WaitEvent{Key: long, Err: down},
		`50 per 1s`:            bucket.PerSecond(50),
		`50 per 1s, burst 100`: bucket.PerSecond(50).WithBurst(100),
		`1 per 1h0m0s`:         bucket.Every(time.Hour),
		`9 per 1m0s, fixed`:    bucket.Limit{Capacity: 9, Period: time.Minute, Algorithm: bucket.Fixed},
		`no limit set`:         bucket.Limit{},
	} {
		if got := value.String(); got != want {
			t.Errorf("got %q want %q", got, want)
		}
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("denied", "error", &bucket.DeniedError{Limiter: "mail", Key: long, RetryAfter: time.Second})
	log.Info("decided", "decision", bucket.Decision{Allowed: true, Granted: 1, Limit: 5, Remaining: 4})
	want := `level=INFO msg=denied error.limiter=mail error.key="` + long[:64] + `... (100 bytes)" error.retry_after=1s
level=INFO msg=decided decision.allowed=true decision.granted=1 decision.remaining=4 decision.limit=5` +
		" decision.retry_after=0s decision.reset_after=0s decision.source=store\n"
	if got := out.String(); got != want {
		t.Errorf("logged\n%swant\n%s", got, want)
	}
}
