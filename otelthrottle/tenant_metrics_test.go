package otelthrottle_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// TestTenantMetrics has no series before a call of a tenant might have been shed. Of two tenants, one takes too much.
func TestTenantMetrics(t *testing.T) {
	l := newLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	tenants := func() snapshot {
		return l.read(t).of(semconv.MetricTenantsAbove, semconv.MetricTenantsLargest, semconv.MetricTenantsSheds)
	}
	l.reject(t, th, throttle.Low, 60)
	l.shed(t.Context(), t, th, throttle.Low, 1)
	tenants().want(t, snapshot{})
	greedy, modest := throttle.WithTenant(t.Context(), "greedy"), throttle.WithTenant(t.Context(), "modest")
	for i := range 2000 {
		l.advance(5 * time.Millisecond)
		l.sheds.Store(i%5 > 0) // so that one in five succeeds
		_ = th.Do(greedy, throttle.Low, returns(nil))
		if i%20 == 0 {
			_ = th.Do(modest, throttle.Low, returns(nil))
		}
	}
	l.sheds.Store(false)
	got := tenants()
	low := "{throttle.name=db,throttle.priority=low}"
	equal(t, "above", got["throttle.tenants.above"+low], 1)
	if largest := got["throttle.tenants.largest"+low]; largest < 0.85 || largest > 0.99 {
		t.Errorf("largest: got %v want 0.95", largest)
	}
	if sheds := got["throttle.tenants.sheds"+low]; sheds < 500 || sheds > 2000 || sheds != float64(th.Stats().Priorities[throttle.Low].Tenants.Shed) {
		t.Errorf("sheds: got %v", sheds)
	}
	equal(t, "above, high", got["throttle.tenants.above{throttle.name=db,throttle.priority=high}"], 0)
}
