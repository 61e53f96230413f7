package shop

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// patience is how long a visitor waits for the backend.
const patience = 80 * time.Millisecond

// visit is one request of a visitor, and what became of its call.
type visit struct {
	shop  *Shop
	kind  Kind
	asked bool // the call was sent to the backend
	found bool // and answered
	page  []string
	plain bool // the page is the one kept for when there is nothing better
}

// serve serves the visitor, and counts.
func (v *visit) serve(ctx context.Context) {
	ctx, span := v.shop.tracer.Start(ctx, v.kind.Name, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	counts := &v.shop.counts[v.kind.Priority]
	counts.offered.Add(1)
	if err := v.open(ctx); err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	switch {
	case !v.asked:
		counts.shed.Add(1)
	case v.found:
		counts.served.Add(1)
	default:
		counts.rejected.Add(1)
	}
	if v.plain {
		counts.cached.Add(1)
	}
}

// open opens the page that the visitor wants to see.
func (v *visit) open(ctx context.Context) error {
	switch v.kind.Priority {
	case throttle.High:
		return v.checkout(ctx)
	case throttle.Important:
		return v.cart(ctx)
	case throttle.Medium:
		return v.browse(ctx)
	default:
		return v.recommendations(ctx)
	}
}

// checkout is what the shop lives on.
func (v *visit) checkout(ctx context.Context) error {
	return v.shop.Throttle().Do(ctx, throttle.High, v.ask)
}

func (v *visit) cart(ctx context.Context) error {
	return v.shop.Throttle().Do(ctx, throttle.Important, v.ask)
}

func (v *visit) browse(ctx context.Context) error {
	return v.shop.Throttle().Do(ctx, throttle.Medium, v.ask)
}

// recommendations are a nicety: whoever cannot have his own gets everybody's.
func (v *visit) recommendations(ctx context.Context) (err error) {
	v.page, err = throttle.Do(ctx, v.shop.Throttle(), throttle.Low, func(ctx context.Context) ([]string, error) {
		return []string{"apples", "pears"}, v.ask(ctx)
	}, func(context.Context, error, bool) ([]string, error) {
		v.plain = true
		return []string{"our best sellers"}, nil
	})
	return err
}

// ask makes the call to the backend.
func (v *visit) ask(ctx context.Context) error {
	v.asked = true
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := v.shop.backend.call(ctx)
	v.found = err == nil
	return err
}
