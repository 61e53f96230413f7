package otelthrottle_test

import (
	"context"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// withoutDefaultHooks removes all default hooks at the end of the test.
func withoutDefaultHooks(t testing.TB) {
	t.Cleanup(func() {
		throttle.SetDefaultHooks(throttle.Hooks{})
		breaker.SetDefaultHooks(breaker.Hooks{})
		bucket.SetDefaultHooks(bucket.Hooks{})
		backoff.SetDefaultHooks(backoff.Hooks{})
		retry.SetDefaultHooks(retry.Hooks{})
		control.SetDefaultHooks(control.Hooks{})
	})
}

// inALibrary makes one of each system without hooks, and uses the throttle.
func inALibrary() *throttle.Throttle {
	throttle.Must(breaker.New(breaker.Config{Name: "db"}))
	throttle.Must(bucket.New(bucket.Config{Name: "db", Limit: bucket.PerSecond(1)}))
	throttle.Must(backoff.New(backoff.Config{Name: "db"}))
	throttle.Must(retry.New(retry.Config{Name: "db"}))
	throttle.Must(control.New(control.Config{}))
	th := throttle.Must(throttle.New(throttle.Config{Name: "db"}))
	times(3, th, throttle.High, nil)
	return th
}

func TestInstall(t *testing.T) {
	withoutDefaultHooks(t)
	inALibrary()
	reader := sdkmetric.NewManualReader()
	meters := otelthrottle.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	tel, err := otelthrottle.Install(meters)
	if err != nil {
		t.Fatalf("Install: got error %v want nil", err)
	}
	read(t, reader).want(t, snapshot{}) // what was made before is not reported
	th := inALibrary()
	got := read(t, reader)
	equal(t, "accepted", got[accepted(throttle.High)], 3)
	equal(t, "series of "+semconv.MetricControlOverrides, len(got.of(semconv.MetricControlOverrides)), 3)
	for _, metric := range []string{
		semconv.MetricBreakerLeader, semconv.MetricBucketTokens, semconv.MetricBackoffDelay,
		semconv.MetricRetryBudget,
	} {
		equal(t, "series of "+metric, len(got.of(metric)), 1)
	}
	throttle.Must(throttle.New(throttle.Config{Name: "own", Hooks: throttle.Hooks{Closed: func(*throttle.Throttle) {}}}))
	equal(t, "series of a throttle with hooks of its own", len(read(t, reader).named("own")), 0)

	if _, err := otelthrottle.Install(otelthrottle.WithBreakerDetail(-1)); err == nil {
		t.Error("Install with an option out of range: got error nil")
	}
	another := throttle.Must(throttle.New(throttle.Config{Name: "another"}))
	equal(t, "series after an Install that failed", len(read(t, reader).named("another")) > 0, true)

	if err := tel.Shutdown(context.Background()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	times(1, th, throttle.High, nil)
	_ = another.Close()
	read(t, reader).of(semconv.MetricCalls).want(t, snapshot{})
}
