package otelthrottle_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// everyKind makes a throttle, a breaker, a limiter and a backoff do everything that is reported, at least once.
func everyKind(t testing.TB, l *lab, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Slow = time.Hour // no call is late, but the metrics are there
	th := l.throttle(t, c)
	serves := func(context.Context, error, bool) error { return nil }
	fails := func(context.Context, error, bool) error { return errPlain }
	times(1, th, 99, nil)
	times(1, th, throttle.High, errPlain)
	l.reject(t, th, throttle.Low, 60)
	l.shed(throttle.WithTenant(t.Context(), "shop 17"), t, th, throttle.Low, 2)
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), serves)
	_ = th.Do(t.Context(), throttle.High, returns(errBusy), fails)
	times(1, th, throttle.High, throttle.MarkOverloaded(errBusy))
	th.Exempt()
	th.ReceiveLoad(throttle.LoadReport{Overloaded: true})
	th.LoadReport()
	if err := th.Tune(throttle.Patch{Mode: new(throttle.ModeShadow)}); err != nil {
		t.Fatalf("Tune: got error %v want nil", err)
	}
	l.sheds.Store(true)
	times(1, th, throttle.Low, nil)
	times(1, th, throttle.Low, errBusy)
	l.sheds.Store(false)
	if _, err := th.Admit(t.Context(), throttle.Medium); err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}
	dryRun := l.breaker(t, breaker.Config{Name: "webhooks", Mode: throttle.ModeShadow})
	disable(t, dryRun, breaker.Key{Tenant: "acme", ID: "a"})
	admit(t, dryRun, breaker.Key{Tenant: "acme", ID: "a"})
	for name, err := range map[string]error{"geocoder": nil, "partner": errPlain} { // of the store
		take(t.Context(), t, l.limiter(t, bucket.Config{Name: name, Store: newDoubtfulStore(err)}), 1)
	}
	r := l.backoff(t, backoff.Config{Mode: backoff.Sleep, InitialInterval: time.Millisecond})
	end(t.Context(), t, r, backoff.Success, backoff.Ignored, backoff.ThrottledFor(time.Millisecond), backoff.Success)
	everyRetry(t, l)
	if err := tuneMode(t.Context(), t, l).Watch(t.Context(), filepath.Join(t.TempDir(), "missing.json")); err != nil {
		t.Fatal(err)
	}
	return th
}

// TestBoundsOfHistograms are a part of the names of series in Prometheus.
func TestBoundsOfHistograms(t *testing.T) {
	l := newLab(t, setup{})
	everyKind(t, l, throttle.Config{Name: "db"})
	got := map[string][]float64{}
	for _, m := range collect(t, l.reader) {
		if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
			got[m.Name] = h.DataPoints[0].Bounds
		}
	}
	for metric, bounds := range map[string][]float64{
		semconv.MetricCallDuration:         {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10},
		semconv.MetricBucketStoreDuration:  {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 60},
		semconv.MetricBackoffSleepDuration: {0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900},
	} {
		if !slices.Equal(got[metric], bounds) {
			t.Errorf("%s: got %v want %v", metric, got[metric], bounds)
		}
	}
}
