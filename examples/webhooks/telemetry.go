package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/breakerz"
	"github.com/spillway-go/spillway/throttle/statusz"
)

const (
	// graceOfAnswers is how long answers that are under way may take at the end.
	graceOfAnswers = time.Second
	// mostNamed is how many circuits that are not closed have a series of their own.
	mostNamed = 100
)

// telemetry is what can be seen of the breakers while they work. Its zero value shows nothing to anybody.
type telemetry struct {
	breakers *otelthrottle.Telemetry
	meters   *metric.MeterProvider
	page     *statusz.Page
	server   *http.Server
	served   chan error

	mu      sync.Mutex
	removes map[*breaker.Manager]func() // take a breaker off the page
}

// openTelemetry serves metrics and the page at an address, if there is one. It returns where.
func openTelemetry(address string) (t *telemetry, url string, err error) {
	t = &telemetry{removes: map[*breaker.Manager]func(){}}
	if address == "" {
		return t, "", nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, "", fmt.Errorf("cannot listen on %s: %w: choose another address with -metrics, or 127.0.0.1:0 for any free port", address, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := t.measure(registry); err != nil {
		return nil, "", errors.Join(err, listener.Close())
	}
	t.page = statusz.New()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/throttle", t.page)
	t.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	t.server.RegisterOnShutdown(func() { _ = t.page.Close() }) // or its streams would go on; it always returns nil
	t.served = make(chan error, 1)
	go func() { t.served <- t.server.Serve(listener) }()
	return t, "http://" + listener.Addr().String(), nil
}

// measure makes the metrics. Circuits that are not closed are named: these keys are nobody's secret.
func (t *telemetry) measure(registry *prometheus.Registry) error {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return err
	}
	t.meters = metric.NewMeterProvider(metric.WithReader(exporter))
	t.breakers, err = otelthrottle.New(otelthrottle.WithMeterProvider(t.meters), otelthrottle.WithBreakerDetail(mostNamed))
	return err
}

// hooks are for the breakers of all agents.
func (t *telemetry) hooks() breaker.Hooks {
	if t.server == nil {
		return breaker.Hooks{}
	}
	return breaker.JoinHooks(t.breakers.BreakerHooks(), breaker.Hooks{Created: t.show, Closed: t.hide})
}

func (t *telemetry) show(m *breaker.Manager) {
	remove := t.page.Add(breakerz.Source(m))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removes[m] = remove
}

func (t *telemetry) hide(m *breaker.Manager) {
	t.mu.Lock()
	remove := t.removes[m]
	delete(t.removes, m)
	t.mu.Unlock()
	if remove != nil {
		remove()
	}
}

// close ends the server and the metrics.
func (t *telemetry) close() error {
	if t.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), graceOfAnswers)
	defer cancel()
	err := t.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = t.server.Close() // somebody does not let go
	}
	if served := <-t.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, t.breakers.Shutdown(context.Background()), t.meters.Shutdown(context.Background()))
}
