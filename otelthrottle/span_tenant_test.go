package otelthrottle_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestSpan_Tenant says which calls were shed because their tenant takes too much.
func TestSpan_Tenant(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	l.reject(t, th, throttle.Low, 60)
	tenants := []context.Context{throttle.WithTenant(t.Context(), "greedy"), throttle.WithTenant(t.Context(), "modest")}
	for i := range 2000 {
		l.advance(5 * time.Millisecond)
		l.sheds.Store(i%5 > 0)
		_ = th.Do(tenants[0], throttle.Low, returns(nil))
		if i%20 == 0 {
			_ = th.Do(tenants[1], throttle.Low, returns(nil))
		}
	}
	l.sheds.Store(true)
	ctx, request := l.request(tenants[0])
	_ = th.Do(ctx, throttle.Low, returns(nil))
	request.End()
	events := l.spanNamed(t, "request").Events()
	if len(events) != 1 || !slices.Contains(events[0].Attributes, semconv.KeyTenantAbove.Bool(true)) {
		t.Errorf("events: got %v want one with %s", events, semconv.KeyTenantAbove)
	}
}
