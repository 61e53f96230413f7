package otelthrottle_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
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
	everyAnswer(t, l.limiter(t, bucket.Config{Store: &doubtfulStore{Store: bucket.NewMemoryStore(), fails: inTurn(nil, errPlain)}}))
	everyOutcome(t, l.backoff(t, backoff.Config{}))
	everyRetry(t, l)
	everyTuning(t, l)
	return th
}

// TestEverythingIsEmittedUnderOneScope checks under whose name everything is emitted.
func TestEverythingIsEmittedUnderOneScope(t *testing.T) {
	l := newLab(t, setup{})
	l.throttle(t, throttle.Config{Name: "db"})
	var rm metricdata.ResourceMetrics
	if err := l.reader.Collect(t.Context(), &rm); err != nil {
		t.Fatalf("Collect: got error %v want nil", err)
	}
	equal(t, "scopes", len(rm.ScopeMetrics), 1)
	scope := rm.ScopeMetrics[0].Scope
	equal(t, "name", scope.Name, "github.com/spillway-go/spillway/otelthrottle")
	equal(t, "version", scope.Version, otelthrottle.Version)
	equal(t, "schema URL", scope.SchemaURL, "") // our names are not those of the conventions
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(otelthrottle.Version) {
		t.Errorf("Version: got %q want a semantic version", otelthrottle.Version)
	}
}

// TestErrorTypesAreAClosedSet ends a call with every fault.
func TestErrorTypesAreAClosedSet(t *testing.T) {
	want := []string{
		"_OTHER", "authentication", "availability", "bad", "canceled", "conflict", "missing", "panic", "permission",
		"precondition", "quota", "shed", "timeout", "unimplemented",
	}
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Mode: throttle.ModeOff})
	for _, err := range errorsOfEveryFault() {
		times(1, th, throttle.High, err)
		times(1, th, throttle.High, fmt.Errorf("user 17: %w", err))
	}
	found := map[string]bool{}
	for key := range l.read(t).of(semconv.MetricCalls).positive() {
		if _, after, ok := strings.Cut(key, "error.type="); ok {
			found[after[:strings.IndexAny(after, ",}")]] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("error.type: got %q want %q", got, want)
	}
	equal(t, "kinds of faults", len(want), int(throttle.FaultOther))
}

// TestBoundsOfHistograms records a duration for each bound, in which it is counted, and a longer
// one.
func TestBoundsOfHistograms(t *testing.T) {
	l := newLab(t, setup{})
	th, limiter, r := l.throttle(t, throttle.Config{Name: "db"}), l.limiter(t, bucket.Config{}), l.backoff(t, backoff.Config{})
	asked, slept := l.tel.BucketHooks().StoreCalled, l.tel.BackoffHooks().Slept
	for metric, h := range map[string]struct {
		record func(time.Duration)
		bounds []float64
	}{
		semconv.MetricCallDuration: {
			func(d time.Duration) { _ = th.Do(t.Context(), throttle.High, l.taking(d, nil)) },
			[]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10},
		},
		semconv.MetricBucketStoreDuration: {
			func(d time.Duration) { asked(t.Context(), bucket.StoreEvent{Limiter: limiter, Duration: d}) },
			[]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 10, 60},
		},
		semconv.MetricBackoffSleepDuration: {
			func(d time.Duration) { slept(t.Context(), backoff.SleepEvent{Responsive: r, Duration: d}) },
			[]float64{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900},
		},
	} {
		for _, bound := range h.bounds {
			h.record(time.Duration(math.Round(bound * float64(time.Second))))
		}
		h.record(time.Hour)
		for _, m := range collect(t, l.reader) {
			if m.Name != metric {
				continue
			}
			p := m.Data.(metricdata.Histogram[float64]).DataPoints[0]
			if once := slices.Repeat([]uint64{1}, len(h.bounds)+1); !slices.Equal(p.Bounds, h.bounds) || !slices.Equal(p.BucketCounts, once) {
				t.Errorf("%s: got %v in %v want 1 in each of %v", metric, p.BucketCounts, p.Bounds, h.bounds)
			}
		}
		equal(t, "durations in "+metric, l.read(t).with(metric), float64(len(h.bounds)+1))
	}
}
