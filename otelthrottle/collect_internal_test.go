package otelthrottle

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spillway-go/spillway/internal/byname"
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

// TestAClosedThrottleWhoseClockPanicsIsGivenUp like one whose calls do not end, so that its name is reported again.
func TestAClosedThrottleWhoseClockPanicsIsGivenUp(t *testing.T) {
	countErrors(t)
	synctest.Test(t, func(t *testing.T) {
		tel, reader := adapter(t)
		broken := false
		now := func() time.Time {
			if broken {
				panic("clock stopped")
			}
			return time.Now()
		}
		keeper := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: tel.Hooks()}))
		th := throttle.Must(throttle.New(throttle.Config{Name: "db", Now: now, Hooks: tel.Hooks()}))
		_ = th.Do(t.Context(), throttle.High, func(context.Context) error { return nil })
		whole := collected(t, reader)
		broken = true
		_ = th.Close()
		for _, step := range []struct {
			wait             time.Duration
			draining, series int
		}{{0, 1, 0}, {byname.DrainTimeout - time.Second, 1, 0}, {2 * time.Second, 0, whole}} {
			time.Sleep(step.wait)
			if got := collected(t, reader); got != step.series {
				t.Errorf("series: got %d want %d", got, step.series)
			}
			wantMembers(t, tel.throttles.Registry, 1, step.draining)
		}
		_ = keeper.Close()
	})
}
