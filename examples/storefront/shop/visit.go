package shop

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/throttle"
)

// callTimeout is the timeout of a call to the backend. The throttle counts a timeout as a
// rejection.
const callTimeout = 500 * time.Millisecond

// visit is one request of a visitor, which makes one call to the backend.
type visit struct {
	shop   *Shop
	kind   Kind
	sent   bool          // to the backend, so it was not shed
	served bool          // by the backend
	waited time.Duration // for an answer or the timeout; 0 for a rejection
	page   []string
	cached bool // the page is from the cache
}

// serve serves the visitor's request, with a span, and counts its outcome.
func (v *visit) serve(ctx context.Context) {
	ctx, span := v.shop.tracer.Start(ctx, v.kind.Name, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	v.count(func(k *KindTotals) { k.Offered++ })
	if err := v.open(ctx); err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	v.count(func(k *KindTotals) {
		switch {
		case !v.sent:
			k.Shed++
		case v.served:
			k.Served++
		default:
			k.Rejected++
		}
		if v.cached {
			k.Cached++
		}
		if v.waited > 0 {
			k.add(v.waited)
		}
	})
}

// count changes the counts of the kind with the lock held.
func (v *visit) count(change func(*KindTotals)) {
	v.shop.counting.Lock()
	defer v.shop.counting.Unlock()
	change(&v.shop.kinds[v.kind.Priority])
}

// open makes the call, with the priority of its kind.
//
// A checkout has the highest priority: the throttle sheds it last. It has no fallback, so a shed
// checkout returns an error, which errors.Is reports as throttle.ErrShed. A cart is needed for a
// checkout, and less urgent. Browsing has the priority of most calls.
func (v *visit) open(ctx context.Context) error {
	if v.kind.Priority == throttle.Low {
		return v.recommendations(ctx)
	}
	return v.shop.Throttle().Do(ctx, v.kind.Priority, v.call)
}

// recommendations are shed first, because a fallback can replace them: visitors then see the best
// sellers instead of their own recommendations. The fallback runs for a shed call and for one that
// failed, and its result replaces the error.
func (v *visit) recommendations(ctx context.Context) (err error) {
	v.page, err = throttle.Do(ctx, v.shop.Throttle(), throttle.Low, func(ctx context.Context) ([]string, error) {
		return []string{"apples", "pears"}, v.call(ctx)
	}, func(context.Context, error, bool) ([]string, error) {
		v.cached = true
		return []string{"our best sellers"}, nil
	})
	return err
}

// call makes the call to the backend. A program of yours makes a request over the network here. Its
// error decides what the throttle counts.
func (v *visit) call(ctx context.Context) error {
	v.sent = true
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	begun := time.Now()
	err := v.shop.backend.call(ctx)
	v.served = err == nil
	if v.served || ctx.Err() != nil {
		v.waited = time.Since(begun)
	}
	return err
}
