package otelthrottle

import (
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// countErrors counts the errors that otel.Handle gets until the test ends.
func countErrors(t *testing.T) *int {
	n := new(int)
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { *n++ }))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	return n
}

// TestNothingThatPanicsEndsACollection of whatever kind it is.
func TestNothingThatPanicsEndsACollection(t *testing.T) {
	tests := []struct {
		name  string
		panic func(*Telemetry)
	}{
		{"throttle", func(tel *Telemetry) {
			tel.throttles.Kind.Read = func(*throttle.Throttle) throttle.Stats { panic("boom") }
		}},
		{"breaker", func(tel *Telemetry) {
			tel.breakers.Kind.Read = func(*breaker.Manager) breakerSnapshot { panic("boom") }
		}},
		{"bucket", func(tel *Telemetry) { tel.buckets.Kind.Read = func(*bucket.Limiter) bucket.Stats { panic("boom") } }},
		{"backoff", func(tel *Telemetry) {
			tel.backoffs.Kind.Read = func(*backoff.Responsive) backoff.Stats { panic("boom") }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := countErrors(t)
			tel, reader := adapter(t)
			throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: tel.Hooks()}))
			throttle.Must(breaker.New(breaker.Config{Name: "db", Hooks: tel.BreakerHooks()}))
			throttle.Must(bucket.New(bucket.Config{Name: "db", Limit: bucket.PerSecond(1), Hooks: tel.BucketHooks()}))
			throttle.Must(backoff.New(backoff.Config{Name: "db", Hooks: tel.BackoffHooks()}))
			whole := collected(t, reader)
			tt.panic(tel)
			if got := collected(t, reader); got == 0 || got >= whole {
				t.Errorf("series: got %d of %d want those of the other kinds", got, whole)
			}
			if *told != 1 {
				t.Errorf("errors told: got %d want 1", *told)
			}
		})
	}
}
