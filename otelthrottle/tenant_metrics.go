package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// tenantInstruments are the metrics of tenants, for throttles that have shed, or might have shed, a call of one.
// No attribute names a tenant: there may be any number of them.
type tenantInstruments struct {
	above   metric.Int64ObservableGauge
	largest metric.Float64ObservableGauge
	sheds   metric.Int64ObservableCounter
}

func newTenantInstruments(meter metric.Meter) (tenantInstruments, error) {
	var i tenantInstruments
	var errs [3]error
	i.above, errs[0] = meter.Int64ObservableGauge(semconv.MetricTenantsAbove, metric.WithUnit(unitTenant),
		metric.WithDescription("Tenants that take more than their fair share."))
	i.largest, errs[1] = meter.Float64ObservableGauge(semconv.MetricTenantsLargest, metric.WithUnit(unitRatio),
		metric.WithDescription("Share of the calls that the largest tenant has asked for."))
	i.sheds, errs[2] = meter.Int64ObservableCounter(semconv.MetricTenantsSheds, metric.WithUnit(unitCall),
		metric.WithDescription("Calls shed of tenants that took more than their fair share."))
	return i, errors.Join(errs[:]...)
}

func (i *tenantInstruments) observed() []metric.Observable {
	return []metric.Observable{i.above, i.largest, i.sheds}
}

// tenantSum is one priority of all throttles of one name.
type tenantSum struct {
	known   bool
	above   int     // of the open throttle that has most: others may have the same tenants
	largest float64 // the highest of open throttles
	sheds   uint64  // also of closed throttles
}

func (s *tenantSum) add(t *throttle.TenantStats, open bool) {
	s.known = s.known || t.Known
	s.sheds += t.Shed
	if open {
		s.above, s.largest = max(s.above, t.Above), max(s.largest, t.Largest)
	}
}

// reportTenants reports the tenants of a priority, if there are any.
func (r *throttleReport) reportTenants(p throttle.Priority, s *tenantSum) {
	if !s.known {
		return
	}
	i, key := &r.instruments.tenants, seriesKey{kind: byPriority, priority: p}
	r.observe(i.above, uint64(s.above), key)
	r.to.ObserveFloat64(i.largest, s.largest, r.attributes.observeOptions(key)...)
	r.observe(i.sheds, s.sheds, key)
}
