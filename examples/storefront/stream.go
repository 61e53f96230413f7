package main

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/storefront/shop"
)

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
