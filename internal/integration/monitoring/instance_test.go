package monitoring

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// The names of throttles, breakers, token buckets and backoffs that a careful author of dashboards does not think of. Users do.
const (
	hostileName = `my "best" shop's back\end (50%)`
	dottedName  = `eu-west.payments-v2`
)

// An instance is a process of a service with throttles, as far as Prometheus can see. It lives in the test.
type instance struct {
	registry *prometheus.Registry
	server   *httptest.Server
	tracer   trace.Tracer
	hostile  *throttle.Throttle // does everything, at High
	dotted   *throttle.Throttle // serves, and is asked for priorities that it does not have
	fleet    *fleet
	limits   *limits
	backoffs *backoffs
}

// newInstance returns an instance that has done nothing yet.
func newInstance(t testing.TB) *instance {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()))
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters), otelthrottle.WithTracerProvider(tracers), otelthrottle.WithBreakerDetail(4))
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) *throttle.Throttle {
		return throttle.Must(throttle.New(throttle.Config{Name: name, Classify: classify, Hooks: tel.Hooks()}))
	}
	i := &instance{registry: registry, tracer: tracers.Tracer("test"), hostile: named(hostileName), dotted: named(dottedName)}
	i.fleet = newFleet(t, tel.BreakerHooks())
	i.limits = newLimits(t, tel.BucketHooks())
	i.backoffs = newBackoffs(t, tel.BackoffHooks())
	i.server = httptest.NewServer(exposed(registry))
	t.Cleanup(i.server.Close)
	return i
}

// exposed serves a registry, with exemplars. To compress it would keep the race detector busy, and nobody is far away.
func exposed(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true})
}

// address returns the host and port for a scrape.
func (i *instance) address() string { return i.server.Listener.Addr().String() }

// work lets the instance do everything again and again until the test ends.
func (i *instance) work(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	wg.Go(func() { _ = i.fleet.busy.Run(ctx) })
	wg.Go(func() {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				i.doEverything(t, ctx)
			}
		}
	})
}

// newBareInstance returns what answers scrapes, but has forgotten the hooks of its throttles.
func newBareInstance(t testing.TB) (address string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	server := httptest.NewServer(exposed(registry))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
