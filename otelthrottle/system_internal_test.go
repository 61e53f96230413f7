package otelthrottle

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/spillway-go/spillway/throttle/backoff"
)

// TestCollect_leavesOutWhatPanics of one kind, and says so.
func TestCollect_leavesOutWhatPanics(t *testing.T) {
	var said []string
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { said = append(said, err.Error()) }))
	defer otel.SetErrorHandler(before)
	tel, reader := adapter(t)
	newThrottle(tel)
	newBackoff(tel)
	whole := len(page(t, reader))
	tel.backoffs.Kind.Read = func(*backoff.Responsive) backoff.Stats { panic("boom") }
	if got := len(page(t, reader)); got == 0 || got >= whole {
		t.Errorf("series: got %d of %d want those of the other kinds", got, whole)
	}
	if len(said) != 1 || !strings.Contains(said[0], `otelthrottle: this collection leaves out backoff "table": `) {
		t.Errorf("errors: got %q want one about the backoff", said)
	}
}
