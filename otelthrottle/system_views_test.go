package otelthrottle_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// TestTwoAdaptersOnOneProvider is not intended, but valid: the values of one name are summed up.
func TestTwoAdaptersOnOneProvider(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	second := newTelemetry(t, otelthrottle.WithMeterProvider(l.meters), otelthrottle.WithTracerProvider(l.traces))
	times(10, l.throttle(t, throttle.Config{Name: "db"}), throttle.High, nil)
	times(5, throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: second.Hooks()})), throttle.High, nil)
	equal(t, "accepted", l.read(t)[accepted(throttle.High)], 15)
	wantSeries(t, e.scrape(t, ""), "throttle_calls_total", 12)
	if err := second.Shutdown(context.Background()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	equal(t, "accepted, by the one left", l.read(t)[accepted(throttle.High)], 10)
}
