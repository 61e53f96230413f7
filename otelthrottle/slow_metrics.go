package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// slowInstruments are the metrics of what Config.Slow does.
type slowInstruments struct {
	calls     metric.Int64ObservableCounter
	limit     metric.Int64ObservableGauge
	open      metric.Int64ObservableUpDownCounter
	threshold metric.Float64ObservableGauge
	oldest    metric.Float64ObservableGauge
}

func newSlowInstruments(meter metric.Meter) (slowInstruments, error) {
	var i slowInstruments
	var errs [5]error
	i.calls, errs[0] = meter.Int64ObservableCounter(semconv.MetricSlowCalls, metric.WithUnit(unitCall),
		metric.WithDescription("Calls that were late, and what was done with them."))
	i.limit, errs[1] = meter.Int64ObservableGauge(semconv.MetricSlowLimit, metric.WithUnit(unitCall),
		metric.WithDescription("Open calls at which a call is refused, while calls are late; 0 without a limit."))
	i.open, errs[2] = meter.Int64ObservableUpDownCounter(semconv.MetricSlowOpen, metric.WithUnit(unitCall),
		metric.WithDescription("Calls without an answer that were not written off."))
	i.threshold, errs[3] = meter.Float64ObservableGauge(semconv.MetricSlowThreshold, metric.WithUnit(unitSecond),
		metric.WithDescription("How long a call may be without an answer before it is late."))
	i.oldest, errs[4] = meter.Float64ObservableGauge(semconv.MetricSlowOldest, metric.WithUnit(unitSecond),
		metric.WithDescription("How long the oldest call has been without an answer."))
	return i, errors.Join(errs[:]...)
}

func (i *slowInstruments) observed() []metric.Observable {
	return []metric.Observable{i.calls, i.limit, i.open, i.threshold, i.oldest}
}

// slowSum is the present state of the open throttles of one name with Config.Slow or SlowAuto. Its
// open also counts the calls of throttles without them.
type slowSum struct {
	throttles                   int     // with Config.Slow, or with a learned one
	configured, learned, oldest float64 // the highest
	open                        int64
}

func (s *slowSum) add(stats *throttle.SlowStats) {
	if stats.Slow == 0 {
		return
	}
	s.throttles++
	s.oldest = max(s.oldest, stats.Oldest.Seconds())
	if stats.Auto {
		s.learned = max(s.learned, stats.Learned.Seconds())
		return
	}
	s.configured = max(s.configured, stats.Slow.Seconds())
}

// addSlow adds the counters.
func (s *prioritySum) addSlow(p *throttle.SlowTotals) {
	s.slow.Late += p.Late
	s.slow.Booked += p.Booked
	s.slow.WrittenOff += p.WrittenOff
	s.slow.WouldRefuse += p.WouldRefuse
}

// reportSlow reports what Config.Slow does, for names with it, and the open calls of all names.
func (r *throttleReport) reportSlow(sum *throttleSum) {
	i, source := &r.instruments.slow, r.attributes.observeOptions(seriesKey{kind: bySource})
	r.to.ObserveInt64(i.open, sum.slow.open, source...)
	if sum.slow.throttles == 0 {
		return
	}
	r.observeThreshold(semconv.SlowConfigured, sum.slow.configured)
	r.observeThreshold(semconv.SlowLearned, sum.slow.learned)
	r.to.ObserveFloat64(i.oldest, sum.slow.oldest, source...)
	for p := range sum.priorities {
		s, k := &sum.priorities[p].slow, seriesKey{kind: bySlowEvent, priority: throttle.Priority(p)}
		for _, event := range []struct {
			name  string
			calls uint64
		}{{semconv.SlowLate, s.Late}, {semconv.SlowBooked, s.Booked}, {semconv.SlowWrittenOff, s.WrittenOff}, {semconv.SlowWouldRefuse, s.WouldRefuse}} {
			k.decision = event.name
			r.observe(i.calls, event.calls, k)
		}
		r.to.ObserveInt64(i.limit, s.Limit, r.attributes.observeOptions(seriesKey{kind: byPriority, priority: throttle.Priority(p)})...)
	}
}

// observeThreshold reports the threshold of a source, if a throttle has one.
func (r *throttleReport) observeThreshold(source string, seconds float64) {
	if seconds == 0 {
		return
	}
	options := r.attributes.observeOptions(seriesKey{kind: bySlowSource, decision: source})
	r.to.ObserveFloat64(r.instruments.slow.threshold, seconds, options...)
}
