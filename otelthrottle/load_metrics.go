package otelthrottle

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// loadRows returns the metrics of load reports: those that a server sends, and those that a client has
// received.
func loadRows() []row[throttleSum] {
	receiving := func(sum *throttleSum) bool { return sum.receiving > 0 }
	return []row[throttleSum]{
		perPriority(floatGauge, semconv.MetricLoadSent, "1", "Share of the calls that this server sheds, as it says to its clients.",
			func(s *prioritySum, to *output, word string) { to.float(s.sent, word) }).only(func(sum *throttleSum) bool { return sum.sending > 0 }),
		perPriority(floatGauge, semconv.MetricLoadReceived, "1", "Probability of shedding that the load reports of the backend ask for.",
			func(s *prioritySum, to *output, word string) { to.float(s.Told, word) }).only(receiving),
		{
			kind: gauge, name: semconv.MetricLoadState, unit: "{throttle}",
			help: "Throttles by what the backend said about its load in the last seconds.",
			keys: []attribute.Key{semconv.KeyLoad}, when: receiving,
			read: func(sum *throttleSum, to *output) {
				for n, word := range loadStates() {
					to.count(sum.loads[n], word)
				}
			},
		},
	}
}

// loadStates are the words of throttle.ReceivedStats, without that for a backend that said nothing.
func loadStates() [4]string {
	return [...]string{semconv.LoadCalm, semconv.LoadMixed, semconv.LoadOverloaded, semconv.LoadDoubted}
}

// addLoad adds the load reports of an open throttle.
func (s *throttleSum) addLoad(stats *throttle.Stats) {
	if stats.SendsLoad {
		s.sending++
	}
	states := loadStates()
	if i := slices.Index(states[:], stats.Received.String()); i >= 0 {
		s.receiving++
		s.loads[i]++
	}
	for p := range stats.Priorities {
		s.priorities[p].sent = max(s.priorities[p].sent, stats.Load.Shed[p])
	}
}
