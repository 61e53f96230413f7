// Package watch serves what an example does while it runs: metrics for Prometheus, and the page of
// statusz.
package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/examples/internal/origin"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// graceOfAnswers is how long requests that are under way may take at the end.
const graceOfAnswers = time.Second

// Server serves /metrics and /debug/throttle. The methods of a nil Server do nothing.
type Server struct {
	Adapter *otelthrottle.Telemetry
	Page    *statusz.Page

	meters *metric.MeterProvider
	server *http.Server
	served chan error
	url    string
}

// Open serves at an address. It returns nil if the address is empty.
func Open(address string, options ...otelthrottle.Option) (*Server, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w: choose another address with -metrics, or 127.0.0.1:0 for any free port", address, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s := &Server{Page: statusz.New(), served: make(chan error, 1), url: "http://" + listener.Addr().String()}
	if err := s.measure(registry, options); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/throttle", s.Page)
	s.server = newServer(knownHost(address, mux))
	s.server.RegisterOnShutdown(func() { _ = s.Page.Close() }) // ends the streams of the page; it always returns nil
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// newServer returns a server with timeouts for slow clients. Streams set deadlines of their own.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
}

// knownHost refuses requests for another host: the page of a stranger may have made its name point
// to this machine.
func knownHost(listen string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !origin.IsOurs(r.Host, listen) {
			http.Error(w, "this page has another address: use that of -metrics, or localhost", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// measure makes the adapter and the metrics.
func (s *Server) measure(registry *prometheus.Registry, options []otelthrottle.Option) error {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return err
	}
	s.meters = metric.NewMeterProvider(metric.WithReader(exporter))
	s.Adapter, err = otelthrottle.New(append(options, otelthrottle.WithMeterProvider(s.meters))...)
	return err
}

// URL returns where the server is, or nothing without one.
func (s *Server) URL() string {
	if s == nil {
		return ""
	}
	return s.url
}

// Close ends the server and the metrics.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), graceOfAnswers)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close() // a client keeps its connection
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, s.Adapter.Shutdown(context.Background()), s.meters.Shutdown(context.Background()))
}
