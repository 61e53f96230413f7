package otelthrottle

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// BreakerHooks returns the hooks for a breaker's Config. Several managers may share them. They cost
// an admitted call nothing.
func (tel *Telemetry) BreakerHooks() breaker.Hooks {
	if !tel.valid() {
		return breaker.Hooks{}
	}
	h := breaker.Hooks{Created: tel.breakers.created(tel), Closed: tel.breakers.Leave}
	if !tel.withoutSpans {
		h.Shed = tel.shedByBreaker
	}
	return h
}

// shedByBreaker adds an event to the caller's span, if it is recording. The event has the key only
// if metrics have keys.
func (tel *Telemetry) shedByBreaker(ctx context.Context, e breaker.ShedEvent) {
	span := trace.SpanFromContext(ctx)
	if e.Shadow || !span.IsRecording() || tel.ended.Load() {
		return
	}
	kv := []attribute.KeyValue{
		semconv.KeyBreakerName.String(validName(e.Manager.Name())), semconv.KeyBreakerState.String(e.State.String()),
	}
	if tel.breakerDetail > 0 {
		kv = append(kv, circuitAttributes(e.Key)...)
	}
	addEvent(span, eventBreakerShed, kv...)
}

type breakerSnapshot struct {
	breaker.Stats
	circuits []breaker.Status // only with detail
}

type breakerSum struct {
	// Counters of open and closed managers.
	calls    [numStates]breaker.CallStats
	changes  [numStates]uint64
	failures breaker.ErrorCounts

	// The present state of open managers.
	circuits     [numStates]int
	leaders      int
	failsClosed  bool          // a manager sheds calls of closed circuits while its snapshot is stale
	hasRead      bool          // a manager has read the store
	age          time.Duration // of the oldest snapshot
	circuitLists [][]breaker.Status
}

// add adds one manager to the sum. A closed one adds its counters only.
//
// Each manager sees the circuits of the whole fleet. The number of circuits is therefore the
// highest that one of them sees: a sum would count each circuit once per manager.
func (s breakerSum) add(m *breakerSnapshot, open bool) breakerSum {
	for state := range s.calls {
		s.calls[state].Admitted += m.Calls[state].Admitted
		s.calls[state].Shed += m.Calls[state].Shed
		s.calls[state].ShadowShed += m.Calls[state].ShadowShed
		s.changes[state] += m.Changes[state]
	}
	s.failures = s.failures.Plus(m.Errors)
	if !open {
		return s
	}
	for state := range s.circuits {
		s.circuits[state] = max(s.circuits[state], m.Circuits[state])
	}
	if m.Leads {
		s.leaders++
	}
	s.failsClosed = s.failsClosed || m.OnStale == breaker.FailClosed
	if m.SnapshotAge >= 0 {
		s.hasRead, s.age = true, max(s.age, m.SnapshotAge)
	}
	s.circuitLists = append(s.circuitLists, m.circuits)
	return s
}

// worstCircuits returns up to limit circuits that are not closed. Disabled ones come first, because
// they stay so until an operator acts, then open and half-open ones. In each group the latest
// change comes first. Each manager of a name has one list.
func worstCircuits(lists [][]breaker.Status, limit int) []breaker.Status {
	all := slices.DeleteFunc(mergeCircuits(lists), func(s breaker.Status) bool { return s.State == breaker.Closed })
	slices.SortFunc(all, func(a, b breaker.Status) int {
		return cmp.Or(
			cmp.Compare(b.State.Severity(), a.State.Severity()),
			b.ChangedAt.Compare(a.ChangedAt),
			strings.Compare(a.Key.Tenant, b.Key.Tenant),
			strings.Compare(a.Key.ID, b.Key.ID),
		)
	})
	return all[:min(limit, len(all))]
}

// mergeCircuits returns every circuit once, with its newest status, closed ones included.
func mergeCircuits(lists [][]breaker.Status) []breaker.Status {
	if len(lists) == 1 {
		return slices.Clone(lists[0])
	}
	newest := map[breaker.Key]breaker.Status{}
	for _, list := range lists {
		for _, s := range list {
			if other, ok := newest[s.Key]; !ok || isNewer(s, other) {
				newest[s.Key] = s
			}
		}
	}
	return slices.Collect(maps.Values(newest))
}

// isNewer reports whether a status of a circuit is newer than another one. The generation stays the
// same from open to half-open.
func isNewer(a, b breaker.Status) bool {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), a.ChangedAt.Compare(b.ChangedAt)) > 0
}
