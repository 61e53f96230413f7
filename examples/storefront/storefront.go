package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/spillway-go/spillway/examples/internal/page"
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
	alerts    *alerts
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
		shop: sh, scenario: newScenarioPlayer(sh, s.scenario), telemetry: tel,
		status: status, stream: page.NewStream(), alerts: &alerts{out: out},
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

func (f *storefront) close(ctx context.Context) error {
	return errors.Join(f.shop.Close(), f.telemetry.shutdown(ctx))
}
