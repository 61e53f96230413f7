package otelthrottle

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// slowRows returns the metrics of what Slow does, for names with a set or learned one, and of the open calls of all names.
func slowRows() []row[throttleSum] {
	watched := func(sum *throttleSum) bool { return sum.slow.throttles > 0 }
	return []row[throttleSum]{
		{
			kind: counter, name: semconv.MetricSlowCalls, unit: "{call}", help: "Calls that were late, and what was done with them.",
			keys: []attribute.Key{semconv.KeyPriority, semconv.KeySlowEvent}, when: watched,
			read: each(func(s *prioritySum, to *output, word string) {
				to.count(s.Slow.Late, word, semconv.SlowLate)
				to.count(s.Slow.Booked, word, semconv.SlowBooked)
				to.count(s.Slow.WrittenOff, word, semconv.SlowWrittenOff)
				to.count(s.Slow.WouldRefuse, word, semconv.SlowWouldRefuse)
			}),
		},
		perPriority(gauge, semconv.MetricSlowLimit, "{call}",
			"Open calls of the priority and those above it at which a call is refused, while calls are late; 0 without a limit.",
			func(s *prioritySum, to *output, word string) { to.number(s.Slow.Limit, word) }).only(watched),
		one(upDown, semconv.MetricSlowOpen, "{call}", "Calls without an answer that were not written off.",
			func(sum *throttleSum, to *output) { to.number(sum.slow.open) }),
		{
			kind: floatGauge, name: semconv.MetricSlowThreshold, unit: "s",
			help: "How long a call may be without an answer before it is late.",
			keys: []attribute.Key{semconv.KeySlowSource}, when: watched,
			read: func(sum *throttleSum, to *output) {
				if s := sum.slow.configured; s > 0 {
					to.float(s, semconv.SlowConfigured)
				}
				if s := sum.slow.learned; s > 0 {
					to.float(s, semconv.SlowLearned)
				}
			},
		},
		one(floatGauge, semconv.MetricSlowOldest, "s", "How long the oldest call has been without an answer.",
			func(sum *throttleSum, to *output) { to.float(sum.slow.oldest) }).only(watched),
		one(gauge, semconv.MetricSlowFull, "{throttle}", "Throttles with a learned Slow that have found calls waiting in a queue.",
			func(sum *throttleSum, to *output) { to.number(sum.slow.full) }).only(watched),
	}
}

// slowSum is the present state of the open throttles of one name with a set or learned Slow. Its open also counts the
// calls of throttles without it.
type slowSum struct {
	throttles                   int     // with Config.Slow, or with a learned one
	configured, learned, oldest float64 // the highest
	open                        int64
	full                        int64 // throttles with a learned one that have found a queue
}

func (s *slowSum) add(stats *throttle.SlowStats) {
	if stats.Slow == 0 {
		return
	}
	s.throttles++
	s.oldest = max(s.oldest, stats.Oldest.Seconds())
	if stats.Auto {
		if stats.Full {
			s.full++
		}
		s.learned = max(s.learned, stats.Learned.Seconds())
		return
	}
	s.configured = max(s.configured, stats.Slow.Seconds())
}
