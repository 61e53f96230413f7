package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// storefront is the shop with everything that shows it.
type storefront struct {
	shop      *shop.Shop
	director  *director
	telemetry *telemetry
	status    *statusz.Page
	stream    *stream
	alerts    *alerts
}

// newStorefront returns a storefront in which nothing happens yet. It tells of alerts on out.
func newStorefront(ctx context.Context, s settings, out io.Writer, getenv func(string) string) (*storefront, error) {
	tel, err := newTelemetry(ctx, getenv)
	if err != nil {
		return nil, err
	}
	page := statusz.New()
	sh, err := shop.New(shop.Config{
		Settings: s.shop,
		Hooks:    throttle.JoinHooks(tel.throttles.Hooks(), page.Hooks()),
		Tracer:   tel.tracers.Tracer("storefront"),
	})
	if err != nil {
		return nil, err
	}
	return &storefront{
		shop: sh, director: newDirector(sh, s.scenario), telemetry: tel,
		status: page, stream: newStream(), alerts: &alerts{out: out},
	}, nil
}

// run lets things happen until ctx ends, and the report tell of them.
func (f *storefront) run(ctx context.Context, r *report) {
	lines, samples := shop.NewMeter(f.shop, 0), shop.NewMeter(f.shop, smoothing)
	var wg sync.WaitGroup
	wg.Go(func() { f.shop.Run(ctx) })
	wg.Go(func() { f.director.play(ctx) })
	wg.Go(func() { f.stream.run(ctx, samples) })
	r.follow(ctx, lines, f.director)
	wg.Wait()
}

// endViews sends home all who look.
func (f *storefront) endViews() {
	f.stream.end()
	_ = f.status.Close() // it always returns nil
}

// close closes what stands behind the views, and sends what telemetry is left.
func (f *storefront) close(ctx context.Context) error {
	return errors.Join(f.shop.Close(), f.telemetry.shutdown(ctx))
}
