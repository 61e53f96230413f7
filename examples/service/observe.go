package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/dashboards"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/statusz"
	"github.com/spillway-go/spillway/throttle/statusz/sources"
)

// observer shows what the throttles do, and changes their settings.
type observer struct {
	mux     *http.ServeMux
	page    *statusz.Page
	meters  *metric.MeterProvider
	tel     *otelthrottle.Telemetry
	control *control.Control
}

// observe reports all throttles and retriers that are made later: in metrics, in the log and on a page.
func observe() (*observer, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	o := &observer{mux: http.NewServeMux(), page: statusz.New(), meters: metric.NewMeterProvider(metric.WithReader(exporter))}
	tel, err := otelthrottle.Install(otelthrottle.WithMeterProvider(o.meters))
	if err != nil {
		return nil, err
	}
	o.tel = tel
	o.control, err = control.New(control.Config{Hooks: control.JoinHooks(tel.ControlHooks(), control.LogHooks(slog.Default()))})
	if err != nil {
		return nil, err
	}
	// This replaces the default hooks of throttles that Install has set, so they are joined here.
	throttle.SetDefaultHooks(throttle.JoinHooks(tel.Hooks(), o.page.Hooks(), throttle.LogHooks(slog.Default())))
	o.control.AddDefaultHooks()
	handler, err := o.control.Handler(operator)
	if err != nil {
		return nil, err
	}
	o.page.Control(handler)
	o.page.Runbooks(dashboards.Runbooks())
	o.page.Add(sources.Control(o.control))
	o.mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	o.mux.Handle("/debug/throttle", o.page)
	return o, nil
}

// flush sends what an exporter that pushes has not sent yet. After it throttles may be closed.
func (o *observer) flush() { warn(o.tel.Shutdown) }

// close ends the rest.
func (o *observer) close() {
	warn(o.meters.Shutdown)
	_, _ = o.control.Close(), o.page.Close() // they return no error
}

// warn calls a function that may take a while, and logs its error.
func warn(end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err := end(ctx); err != nil {
		slog.Warn("the end was not clean", "error", err)
	}
}

// operator returns who changes settings over HTTP. Here it refuses all other machines, and requests to another name
// than this machine's: a web page may have a name that leads here. A real service returns the name that an
// authenticating proxy has put into the header.
func operator(r *http.Request) (who string, err error) {
	if !isLocal(r.RemoteAddr) || !isLocal(r.Host) {
		return "", errors.New("settings are changed from this machine only")
	}
	return "local", nil
}

// isLocal reports whether an address, with its port, is of this machine.
func isLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}
