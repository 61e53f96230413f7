// Package watch serves the metrics of an example for Prometheus, and the live page of statusz.
package watch

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/statusz"
	"github.com/spillway-go/spillway/throttle/statusz/sources"
)

// Server serves /metrics and /debug/throttle. The methods of a nil Server do nothing.
type Server struct {
	telemetry *otelthrottle.Telemetry
	page      *statusz.Page
	meters    *metric.MeterProvider
	server    *page.Server
}

// Open serves at an address. If the address is empty, it does nothing and returns nil.
//
// Open sets the default hooks of the packages backoff, breaker and bucket: the metrics and the page
// report everything that is made later with a Config without Hooks. A process opens at most one
// Server, before it makes a limiter, manager or backoff.
func Open(address string, options ...otelthrottle.Option) (*Server, error) {
	if address == "" {
		return nil, nil
	}
	server, err := page.Listen(address, "-metrics")
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s := &Server{page: statusz.New(), server: server}
	if err := s.install(registry, options); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/throttle", s.page)
	server.Serve(page.KnownHost(address, mux), func() { _ = s.page.Close() }, func() {}) // which always returns nil
	return s, nil
}

// install makes the metrics and sets the default hooks.
func (s *Server) install(registry *prometheus.Registry, options []otelthrottle.Option) error {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return err
	}
	s.meters = metric.NewMeterProvider(metric.WithReader(exporter))
	s.telemetry, err = otelthrottle.Install(append(options, otelthrottle.WithMeterProvider(s.meters))...)
	if err != nil {
		return err
	}
	// Install sets the hooks of the metrics. JoinHooks adds the page. A program without a page
	// needs only Install.
	backoff.SetDefaultHooks(backoff.JoinHooks(backoff.DefaultHooks(), backoff.Hooks{
		Created: func(r *backoff.Responsive) { s.page.Add(sources.Backoff(r)) },
	}))
	breaker.SetDefaultHooks(breaker.JoinHooks(breaker.DefaultHooks(), breaker.Hooks{
		Created: func(m *breaker.Manager) { s.page.Add(sources.Breaker(m)) },
	}))
	bucket.SetDefaultHooks(bucket.JoinHooks(bucket.DefaultHooks(), bucket.Hooks{
		Created: func(l *bucket.Limiter) { s.page.Add(sources.Bucket(l)) },
	}))
	return nil
}

// uninstall removes the default hooks.
func uninstall() {
	throttle.SetDefaultHooks(throttle.Hooks{})
	backoff.SetDefaultHooks(backoff.Hooks{})
	breaker.SetDefaultHooks(breaker.Hooks{})
	bucket.SetDefaultHooks(bucket.Hooks{})
	retry.SetDefaultHooks(retry.Hooks{})
	control.SetDefaultHooks(control.Hooks{})
}

// URL returns the URL of the server, or "" for a nil Server.
func (s *Server) URL() string {
	if s == nil {
		return ""
	}
	return s.server.URL
}

// Close stops the server and the metrics, and removes the default hooks.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	uninstall()
	return errors.Join(s.server.Close(), s.telemetry.Shutdown(context.Background()), s.meters.Shutdown(context.Background()))
}
