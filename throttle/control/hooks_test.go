package control_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/internal/hook/hooktest"
)

// TestLogHooks logs each change in one line.
func TestLogHooks(t *testing.T) {
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	c := newControl(t, control.LogHooks(logger))
	newThrottle(t, c, "stock")
	apply(t, c, `{"throttles": {"stock": {"mode": "off", "by": "ana", "reason": "INC-7", "until": "2126-11-23T18:00:00Z"}}}`)
	apply(t, c, `{}`)
	send(newHandler(t, c, byHeader), "POST", "{", nil)
	want := `level=WARN msg="throttle is tuned" throttle=stock values="mode: enforce -> off" source=apply by=ana reason=INC-7 until=2126-11-23T18:00:00.000Z
level=INFO msg="throttle is no longer tuned" throttle=stock values="mode: off -> enforce" source=apply by=ana reason=INC-7
level=ERROR msg="control: change is refused, earlier settings stay" source=http error="control: document, line 1: unexpected EOF (by \"ana\")"
`
	equal(t, "log", b.String(), want)
	if h := control.LogHooks(nil); h.Tuned == nil {
		t.Error("without a logger: got no hooks")
	}
}

func TestHooks_laws(t *testing.T) {
	hooktest.Laws[control.Hooks]{
		Join: control.JoinHooks, Set: control.SetDefaultHooks, Get: control.DefaultHooks,
		Create: func(h control.Hooks) { _ = newControl(t, h) },
	}.Check(t)
}
