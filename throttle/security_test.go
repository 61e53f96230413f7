package throttle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle"
)

// TestLogHooksWriteOneLineEach has a throttle whose name would like to be lines of its own, to both handlers of slog.
func TestLogHooksWriteOneLineEach(t *testing.T) {
	const name = "orders\nlevel=ERROR msg=\"all is lost\"\r\x1b[2J\u2028\x00\xff\",\"msg\":\"owned"
	for _, format := range []string{"text", "json"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			var handler slog.Handler = slog.NewTextHandler(&out, nil)
			if format == "json" {
				handler = slog.NewJSONHandler(&out, nil)
			}
			th := throttle.Must(throttle.New(throttle.Config{
				Name: name, Policy: throttle.SRE, Rand: func() float64 { return 0 }, Hooks: throttle.LogHooks(slog.New(handler)),
			}))
			for range 300 {
				_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
			}
			_ = th.Close()
			synctest.Wait()
			text := out.String()
			if lines := strings.Count(text, "\n"); lines != 2 || !strings.HasSuffix(text, "\n") {
				t.Fatalf("%s: got %d lines want 2:\n%s", format, lines, text)
			}
			if strings.ContainsAny(text, "\r\x1b\x00") {
				t.Errorf("%s: got %q: it has characters that a terminal obeys", format, text)
			}
			for line := range strings.Lines(text) {
				var fields map[string]any
				if format == "json" && (json.Unmarshal([]byte(line), &fields) != nil || fields["msg"] == "owned") {
					t.Errorf("%s: got %q", format, line)
				}
			}
		})
	}
}
