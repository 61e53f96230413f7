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
	sent     metric.Float64ObservableGauge
	received metric.Float64ObservableGauge
	state    metric.Int64ObservableGauge
}

func newLoadInstruments(meter metric.Meter) (loadInstruments, error) {
	var i loadInstruments
	var errs [3]error
	i.sent, errs[0] = meter.Float64ObservableGauge(semconv.MetricLoadSent, metric.WithUnit(unitRatio),
		metric.WithDescription("Share of the calls that this server sheds, as it says to its clients."))
	i.received, errs[1] = meter.Float64ObservableGauge(semconv.MetricLoadReceived, metric.WithUnit(unitRatio),
		metric.WithDescription("Probability of shedding that the load reports of the backend ask for."))
	i.state, errs[2] = meter.Int64ObservableGauge(semconv.MetricLoadState, metric.WithUnit(unitThrottle),
		metric.WithDescription("Throttles by what the backend said about its load in the last seconds."))
	return i, errors.Join(errs[:]...)
}

func (i *loadInstruments) observed() []metric.Observable {
	return []metric.Observable{i.sent, i.received, i.state}
}

// loadStates are the words of throttle.ReceivedStats, without that for a backend that said nothing.
func loadStates() [4]string {
	return [...]string{semconv.LoadCalm, semconv.LoadMixed, semconv.LoadOverloaded, semconv.LoadDoubted}
}

// loadSum is the present state of the open throttles of one name.
type loadSum struct {
	sending   int                             // servers
	receiving int                             // clients
	states    [4]uint64                       // of loadStates, clients
	sent      [throttle.MaxPriorities]float64 // the highest
	received  [throttle.MaxPriorities]float64 // the highest
}

func (s *loadSum) add(stats *throttle.Stats) {
	if stats.SendsLoad {
		s.sending++
	}
	word := stats.Received.String()
	for i, w := range loadStates() {
		if w == word {
			s.receiving++
			s.states[i]++
		}
	}
	for p := range stats.Priorities {
		s.sent[p] = max(s.sent[p], stats.Load.Shed[p])
		s.received[p] = max(s.received[p], stats.Priorities[p].Told)
	}
}

// reportLoad reports the load reports, for names with any.
func (r *throttleReport) reportLoad(sum *throttleSum) {
	i, load := &r.instruments.load, &sum.load
	for p := range sum.priorities {
		options := r.attributes.observeOptions(seriesKey{kind: byPriority, priority: throttle.Priority(p)})
		if load.sending > 0 {
			r.to.ObserveFloat64(i.sent, load.sent[p], options...)
		}
		if load.receiving > 0 {
			r.to.ObserveFloat64(i.received, load.received[p], options...)
		}
	}
	for n, word := range loadStates() {
		if load.receiving > 0 {
			r.observe(i.state, load.states[n], seriesKey{kind: byLoad, decision: word})
		}
	}
}
