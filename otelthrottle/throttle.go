package otelthrottle

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle"
)

// Hooks returns the hooks for a throttle's Config. Several throttles may share them.
//
// Give them to a throttle once. If they are joined with themselves, or with other Hooks of this
// Telemetry, each call is still counted once. But its duration is recorded twice, and it starts two
// spans, of which one may never end.
func (tel *Telemetry) Hooks() throttle.Hooks {
	if !tel.valid() {
		return throttle.Hooks{}
	}
	b := &binding{telemetry: tel, duration: tel.pushed.call}
	h := throttle.Hooks{Created: b.created, Closed: tel.throttles.Leave}
	if !tel.withoutSpans {
		h.PolicyChanged = b.policyChanged
		h.Shed = b.shed
		h.Started = b.started
	}
	if !tel.withoutSpans || !tel.withoutDuration {
		h.Finished = b.finished
	}
	return h
}

// binding is one set of hooks. It caches the attributes of the first throttle, which is often the
// only one.
type binding struct {
	telemetry *Telemetry
	duration  metric.Float64Histogram // nil without durations
	first     atomic.Pointer[cachedAttributes]
}

type cachedAttributes struct {
	throttle   *throttle.Throttle
	attributes *throttleAttributes
}

// created adds a throttle to the source of its name, or of its name and key.
func (b *binding) created(t *throttle.Throttle) {
	registry := b.telemetry.throttles
	registry.created(b.telemetry)(t)
	if s := registry.Of(t); s != nil {
		b.first.CompareAndSwap(nil, &cachedAttributes{throttle: t, attributes: s.Data})
	}
}

// attributesOf returns the attributes of a throttle, or nil if the hooks were never called with it
// as Created. A call may end long after its throttle was closed: the attributes are then found by
// name.
func (b *binding) attributesOf(t *throttle.Throttle) *throttleAttributes {
	if c := b.first.Load(); c != nil && c.throttle == t {
		return c.attributes
	}
	if s := b.telemetry.throttles.Of(t); s != nil {
		return s.Data
	}
	return nil
}

type throttleSystem = system[*throttle.Throttle, throttle.Stats, throttleSum, *throttleAttributes]

// newThrottles returns the throttles, with their metrics. Series have the common attributes too, and the keys of up to groupDetail
// members of each group.
func newThrottles(common []attribute.KeyValue, groupDetail int) *throttleSystem {
	keys := newGroupKeys(groupDetail)
	registry := byname.New(byname.Kind[*throttle.Throttle, throttle.Stats, throttleSum, *throttleAttributes]{
		Name: keys.sourceName,
		Data: func(t *throttle.Throttle) *throttleAttributes {
			return newThrottleAttributes(validName(t.Name()), keys.metricKey(t), common)
		},
		Read: (*throttle.Throttle).Stats,
		Busy: func(stats *throttle.Stats) bool {
			return slices.ContainsFunc(stats.Priorities, func(p throttle.PriorityStats) bool { return p.InFlight > 0 })
		},
		Add:   addThrottle,
		Clone: throttleSum.clone,
	})
	return &throttleSystem{registry, table[throttleSum]{rows: throttleRows()}, "throttle"}
}

type throttleSum struct {
	priorities []prioritySum

	// The present state of open throttles with the policy Tiered.
	tiered     int
	alerts     [numAlerts]uint64 // throttles by reason
	background float64           // the highest

	sending   int       // open servers that send load reports
	receiving int       // open clients that receive some
	loads     [4]uint64 // of loadStates: these clients

	slow slowSum

	serving int    // open throttles that have had calls to this process
	exempt  uint64 // calls, also of closed throttles

	// Open throttles by mode, of the code and by an override.
	modes, overridden [throttle.ModeOff + 1]uint64
}

func (s throttleSum) clone() throttleSum {
	s.priorities = slices.Clone(s.priorities)
	return s
}

type prioritySum struct {
	throttle.PriorityStats
	sent float64 // the highest share that an open throttle says it sheds
}

// addThrottle adds one throttle to a sum. A closed one adds its counters only.
func addThrottle(sum throttleSum, stats *throttle.Stats, open bool) throttleSum {
	for p := range stats.Priorities {
		if p == len(sum.priorities) {
			sum.priorities = append(sum.priorities, prioritySum{})
		}
		sum.priorities[p].Merge(&stats.Priorities[p], open)
	}
	sum.exempt += stats.Exempt
	if open && stats.ProcessorWait > 0 {
		sum.serving++
	}
	if open {
		sum.addLoad(stats)
		sum.slow.add(&stats.Slow)
		sum.slow.open += unanswered(stats)
		sum.addMode(stats)
	}
	if open && stats.Policy == throttle.Tiered {
		sum.tiered++
		sum.alerts[stats.State.Alert]++
		sum.background = max(sum.background, stats.State.Background)
	}
	return sum
}

// unanswered returns how many calls have no answer, and with a set Slow were not written off. Streams
// that had their answer are in flight, but count as ended.
func unanswered(stats *throttle.Stats) (n int64) {
	switch slow := &stats.Slow; {
	case slow.Auto && slow.Slow > 0:
		return slow.Open + slow.WrittenOff
	case slow.Slow > 0:
		return slow.Open
	}
	for i := range stats.Priorities {
		p := &stats.Priorities[i]
		n += int64(p.Admitted - p.Ended.Sum() - p.ShadowShed.Sum())
	}
	return n
}

// addMode counts an open throttle.
func (s *throttleSum) addMode(stats *throttle.Stats) {
	if stats.Mode != stats.CodeMode {
		s.overridden[stats.Mode]++
	} else {
		s.modes[stats.Mode]++
	}
}
