package main

import (
	"context"
	"embed"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// storefront is the shop, its scenario, and the pages and metrics that report on it.
type storefront struct {
	shop      *shop.Shop
	scenario  *scenarioPlayer
	telemetry *telemetry
	status    *statusz.Page
	stream    *page.Stream
	out       io.Writer // of the alerts
}

// newStorefront returns a storefront without calls; run starts them. It prints alerts on out.
func newStorefront(ctx context.Context, s settings, out io.Writer, getenv func(string) string) (*storefront, error) {
	tel, err := newTelemetry(ctx, getenv)
	if err != nil {
		return nil, err
	}
	status := statusz.New()
	sh, err := shop.New(shop.Config{
		Settings: s.shop,
		// A program with one Telemetry can use otelthrottle.Install, and leave out Hooks. Tests
		// here make several storefronts in a process, so each has its own.
		Hooks:  throttle.JoinHooks(tel.throttles.Hooks(), status.Hooks()),
		Tracer: tel.tracers.Tracer("storefront"),
	})
	if err != nil {
		return nil, err
	}
	return &storefront{
		shop: sh, scenario: &scenarioPlayer{shop: sh, scenario: s.scenario, stop: make(chan struct{})}, telemetry: tel,
		status: status, stream: page.NewStream(), out: out,
	}, nil
}

// run runs the visitors, the scenario, the stream and the report until ctx ends.
func (f *storefront) run(ctx context.Context, r *report) {
	lines, samples := shop.NewMeter(f.shop, 0), shop.NewMeter(f.shop, smoothing)
	var wg sync.WaitGroup
	wg.Go(func() { f.shop.Run(ctx) })
	wg.Go(func() { f.scenario.run(ctx) })
	wg.Go(func() { publish(ctx, f.stream, samples) })
	r.follow(ctx, lines, f.scenario)
	wg.Wait()
}

// closeStreams ends the streams of the page and of /debug/throttle.
func (f *storefront) closeStreams() {
	f.stream.Close()
	_ = f.status.Close() // it always returns nil
}

// close closes in the order of the documentation of otelthrottle, so that no metric is lost if they are pushed.
func (f *storefront) close(ctx context.Context) error {
	return errors.Join(f.telemetry.throttles.Shutdown(ctx), f.shop.Close(), f.telemetry.shutdown(ctx))
}

const (
	// samplePeriod is the time between two samples.
	samplePeriod = 250 * time.Millisecond
	// smoothing is the span of a sample. With a shorter span the rates would jump.
	smoothing = time.Second
)

// publish sends a sample per period to the page, until ctx ends.
func publish(ctx context.Context, st *page.Stream, m *shop.Meter) {
	_ = program.Every(ctx, samplePeriod, 0, func(time.Duration) error { // the error is always nil
		st.Publish(m.Read())
		return nil
	})
}

//go:embed page
var files embed.FS

// handler returns the handler of all addresses. Only the page and /healthz are served under any
// host name.
func (f *storefront) handler(listen string) http.Handler {
	mux := http.NewServeMux()
	page.Handle(mux, files)
	mux.Handle("GET /stream", page.KnownHost(listen, f.stream))
	mux.Handle("POST /control", page.KnownHost(listen, page.SameOrigin(http.HandlerFunc(f.control))))
	mux.Handle("POST /alerts", page.KnownHost(listen, page.SameOrigin(http.HandlerFunc(f.printAlerts))))
	mux.Handle("GET /metrics", page.KnownHost(listen, promhttp.HandlerFor(f.telemetry.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	mux.Handle("/debug/throttle", page.KnownHost(listen, f.status))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // fails if the client has disconnected
	})
	return page.WithHeaders(mux)
}
