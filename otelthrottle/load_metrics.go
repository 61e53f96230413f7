package otelthrottle

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// loadInstruments are the metrics of load reports: those that a server sends, and those that a client has
// received.
type loadInstruments struct {
	told  metric.Float64ObservableGauge
	heard metric.Float64ObservableGauge
	state metric.Int64ObservableGauge
}

func newLoadInstruments(meter metric.Meter) (loadInstruments, error) {
	var i loadInstruments
	var errs [3]error
	i.told, errs[0] = meter.Float64ObservableGauge(semconv.MetricLoadTold, metric.WithUnit(unitRatio),
		metric.WithDescription("Share of the calls that this server sheds, as it says to its clients."))
	i.heard, errs[1] = meter.Float64ObservableGauge(semconv.MetricLoadHeard, metric.WithUnit(unitRatio),
		metric.WithDescription("Probability of shedding that the load reports of the backend ask for."))
	i.state, errs[2] = meter.Int64ObservableGauge(semconv.MetricLoadState, metric.WithUnit(unitThrottle),
		metric.WithDescription("Throttles by what the backend said about its load in the last seconds."))
	return i, errors.Join(errs[:]...)
}

func (i *loadInstruments) observed() []metric.Observable {
	return []metric.Observable{i.told, i.heard, i.state}
}

// loadStates are the words of throttle.HeardStats, without that for a backend that said nothing.
func loadStates() [4]string {
	return [...]string{semconv.LoadCalm, semconv.LoadMixed, semconv.LoadOverloaded, semconv.LoadDoubted}
}

// loadSum is the present state of the open throttles of one name.
type loadSum struct {
	telling int                             // servers
	hearing int                             // clients
	states  [4]uint64                       // of loadStates, clients
	told    [throttle.MaxPriorities]float64 // the highest
	heard   [throttle.MaxPriorities]float64 // the highest
}

func (s *loadSum) add(stats *throttle.Stats) {
	if stats.Tells {
		s.telling++
	}
	word := stats.Heard.String()
	for i, w := range loadStates() {
		if w == word {
			s.hearing++
			s.states[i]++
		}
	}
	for p := range stats.Priorities {
		s.told[p] = max(s.told[p], stats.Load.Shed[p])
		s.heard[p] = max(s.heard[p], stats.Priorities[p].Told)
	}
}

// reportLoad reports the load reports, for names with any.
func (r *throttleReport) reportLoad(sum *throttleSum) {
	i, load := &r.instruments.load, &sum.load
	for p := range sum.priorities {
		options := r.attributes.observeOptions(seriesKey{kind: byPriority, priority: throttle.Priority(p)})
		if load.telling > 0 {
			r.to.ObserveFloat64(i.told, load.told[p], options...)
		}
		if load.hearing > 0 {
			r.to.ObserveFloat64(i.heard, load.heard[p], options...)
		}
	}
	for n, word := range loadStates() {
		if load.hearing > 0 {
			r.observe(i.state, load.states[n], seriesKey{kind: byLoad, decision: word})
		}
	}
}
