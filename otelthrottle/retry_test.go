package otelthrottle_test

import (
	"context"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
)

// everyRetry makes a Retrier do everything that is reported, and a server receive a retry.
func everyRetry(t testing.TB, l *lab) {
	t.Helper()
	r := throttle.Must(retry.New(retry.Config{Name: "orders", Hooks: l.tel.RetryHooks()}))
	_ = r.Do(retry.WithoutRetries(t.Context()), throttle.High, returns(errBusy))
	l.tel.RetryHooks().Arrived(t.Context(), retry.ArrivalEvent{Name: "shop", Attempt: 2})
}

// TestRetrySpans wants a span per attempt, with its number and a link to the one before, and an
// event for the retry that was not made.
func TestRetrySpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, setup{})
		orders, inner := l.throttle(t, throttle.Config{Name: "orders"}), l.throttle(t, throttle.Config{Name: "inner"})
		r := throttle.Must(retry.New(retry.Config{Throttle: orders, Hooks: l.tel.RetryHooks()}))
		ctx, span := l.request(t.Context())
		_ = r.Do(ctx, throttle.High, func(ctx context.Context) error {
			times(1, inner, throttle.High, nil)
			_ = inner.Do(ctx, throttle.High, returns(nil)) // not an attempt of r
			return errBusy
		})
		span.End()
		var before trace.SpanContext
		number := 0
		for _, s := range l.spans.Ended() {
			got := attribute.NewSet(s.Attributes()...)
			attempt, isRetry := got.Value(semconv.KeyRetryAttempt)
			if s.Name() == "throttle inner" && (isRetry || len(s.Links()) > 0) {
				t.Errorf("a call inside of attempt %v has its number or link", attempt)
			}
			if s.Name() != "throttle orders" {
				continue
			}
			if number++; number > 1 {
				equal(t, "attempt", attempt.AsInt64(), int64(number))
				equal(t, "links", len(s.Links()), 1)
				equal(t, "linked span", s.Links()[0].SpanContext.SpanID(), before.SpanID())
			} else if isRetry || len(s.Links()) > 0 {
				t.Error("the first attempt has a number or a link")
			}
			before = s.SpanContext()
		}
		equal(t, "attempts", number, 3)
		l.wantEvents(t, "throttle.retry.denied", []any{"throttle.retry.name", "orders", "throttle.retry.reason", "attempts", "throttle.retry.attempt", 4})
	})
}
