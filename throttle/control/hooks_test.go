package control_test

import (
	"bytes"
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/control"
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
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if h := control.LogHooks(nil); h.Tuned == nil {
		t.Error("without a logger: got no hooks")
	}
}

// TestJoinHooks forwards each field, and keeps nil.
func TestJoinHooks(t *testing.T) {
	var calls strings.Builder
	hooks := func(word string) control.Hooks {
		return control.Hooks{
			Created: func(*control.Control) { calls.WriteString(word + "created ") },
			Closed:  func(*control.Control) { calls.WriteString(word + "closed ") },
			Tuned:   func(context.Context, control.TunedEvent) { calls.WriteString(word + "tuned ") },
			Failed:  func(context.Context, control.FailedEvent) { calls.WriteString(word + "failed ") },
		}
	}
	joined := control.JoinHooks(hooks("1"), control.Hooks{}, hooks("2"))
	for i := range reflect.TypeOf(joined).NumField() {
		if f := reflect.ValueOf(joined).Field(i); f.Kind() == reflect.Func {
			args := make([]reflect.Value, f.Type().NumIn())
			for j := range args {
				args[j] = reflect.Zero(f.Type().In(j))
			}
			f.Call(args)
		}
	}
	if got := calls.String(); got != "1created 2created 1closed 2closed 1tuned 2tuned 1failed 2failed " {
		t.Errorf("got %q", got)
	}
	if !reflect.ValueOf(control.JoinHooks(control.Hooks{}, control.Hooks{})).IsZero() {
		t.Error("hooks without functions are joined to some")
	}
}
