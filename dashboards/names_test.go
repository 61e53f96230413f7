package dashboards_test

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/dashboards"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// exposed returns the names of all metrics and labels that a service with throttles, breakers, token buckets and backoffs shows to Prometheus.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters), otelthrottle.WithBreakerDetail(1))
	if err != nil {
		t.Fatal(err)
	}
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: tel.Hooks()}))
	defer th.Close()
	failing := func(context.Context) (int, error) { return 0, faults.Unavailable(0) }
	_, _ = throttle.Do(t.Context(), th, throttle.Priority(99), failing, func(context.Context, error, bool) (int, error) {
		return 0, errors.New("nothing kept either")
	})
	b := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: tel.BreakerHooks()}))
	defer b.Close()
	if err := b.Disable(t.Context(), breaker.Key{Tenant: "acme", ID: "a"}); err != nil {
		t.Fatal(err)
	}
	l := bucket.Must(bucket.New(bucket.Config{Name: "partner", Limit: bucket.PerSecond(1), Store: silent{bucket.NewMemoryStore()}, Hooks: tel.BucketHooks()}))
	defer l.Close()
	if d, err := l.Allow(t.Context(), "a"); err != nil || !d.Allowed {
		t.Fatalf("Allow: got %v and error %v want it granted, without a store", d, err)
	}
	r := backoff.Must(backoff.New(backoff.Config{Name: "table", Mode: backoff.Sleep, InitialInterval: time.Microsecond, Hooks: tel.BackoffHooks()}))
	defer r.Close()
	if err := errors.Join(r.SleepOnFailure(t.Context()), r.SleepOnFailure(t.Context())); err != nil {
		t.Fatalf("SleepOnFailure: got error %v want none", err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, family := range families {
		for _, ending := range []string{"", "_bucket", "_sum", "_count"} {
			names[family.GetName()+ending] = true
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				names[label.GetName()] = true
			}
		}
	}
	return names
}

// silent is a store that gives no answer.
type silent struct{ bucket.Store }

func (silent) Take(context.Context, bucket.Request) (bucket.Decision, error) {
	return bucket.Decision{}, faults.Unavailable(0)
}

// TestNobodyNamesAMetricThatIsNotThere: no dashboard and no rule names a metric or a label of ours that is not there.
func TestNobodyNamesAMetricThatIsNotThere(t *testing.T) {
	known := exposed(t)
	name := regexp.MustCompile(`\b(?:throttle_|error_type)\w*`)
	err := fs.WalkDir(dashboards.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		for line := range strings.Lines(string(readFile(t, path))) {
			for _, found := range name.FindAllString(line, -1) {
				if !known[found] && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					t.Errorf("%s: got %s, which nothing exposes, in %s", path, found, strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
