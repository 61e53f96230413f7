package otelthrottle

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
)

// panics has a system read its members with a panic.
func panics[M comparable, S, R any, D interface{ base() *attributes }](s *system[M, S, R, D]) {
	s.Kind.Read = func(M) S { panic("boom") }
}

// TestCollect_leavesOutWhatPanics of whatever kind it is, and says so.
func TestCollect_leavesOutWhatPanics(t *testing.T) {
	for of, breaks := range map[string]func(*Telemetry){
		`throttle "db"`:      func(tel *Telemetry) { panics(tel.throttles) },
		`breaker "webhooks"`: func(tel *Telemetry) { panics(tel.breakers) },
		`bucket "geocoder"`:  func(tel *Telemetry) { panics(tel.buckets) },
		`backoff "table"`:    func(tel *Telemetry) { panics(tel.backoffs) },
		`retry "orders"`:     func(tel *Telemetry) { panics(tel.retries) },
		`control ""`:         func(tel *Telemetry) { panics(tel.controls) },
	} {
		t.Run(of, func(t *testing.T) {
			var said []string
			before := otel.GetErrorHandler()
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { said = append(said, err.Error()) }))
			defer otel.SetErrorHandler(before)
			tel, reader := adapter(t)
			newThrottle(tel)
			newBreaker(tel)
			newBucket(tel)
			newBackoff(tel)
			newRetrier(tel)
			newControl(tel)
			whole := collected(t, reader)
			breaks(tel)
			if got := collected(t, reader); got == 0 || got >= whole {
				t.Errorf("series: got %d of %d want those of the other kinds", got, whole)
			}
			if len(said) != 1 || !strings.Contains(said[0], "otelthrottle: this collection leaves out "+of+": ") {
				t.Errorf("errors: got %q want one about %s", said, of)
			}
		})
	}
}
