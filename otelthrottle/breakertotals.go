package otelthrottle

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakers are the managers of breakers that are told of.
type breakers = byname.Registry[*breaker.Manager, sighting, breakerReading, *breakerLabels]

// newBreakers returns a registry without managers, whose series will have these attributes too. With a limit above 0 it also looks
// at circuits.
func newBreakers(constants []attribute.KeyValue, limit int) *breakers {
	return byname.New(byname.Kind[*breaker.Manager, sighting, breakerReading, *breakerLabels]{
		Name: func(m *breaker.Manager) string { return labelName(m.Name()) },
		Data: func(name string) *breakerLabels { return newBreakerLabels(name, constants) },
		Read: func(m *breaker.Manager) sighting {
			s := sighting{Stats: m.Stats()}
			if limit > 0 {
				s.list = m.List()
			}
			return s
		},
		Busy:  func(*sighting) bool { return false }, // a decision is counted when it is taken
		Add:   breakerReading.with,
		Clone: func(r breakerReading) breakerReading { return r }, // of closed managers nothing is seen
	})
}

// sighting is what one manager shows at one instant.
type sighting struct {
	breaker.Stats
	list []breaker.Status // only for detail
}

// breakerReading is what a source of breakers shows at one collection: the totals, and the present of its open members.
type breakerReading struct {
	calls    [breaker.NumStates]breaker.CallStats
	changes  [breaker.NumStates]uint64
	failures [breaker.NumFailures]uint64

	circuits    [breaker.NumStates]int
	leaders     int
	failsClosed bool // some member refuses calls to closed circuits too, while the store is silent
	hasRead     bool // some member has read the store
	age         time.Duration
	seen        [][]breaker.Status // by each member; only for detail
}

// with returns the reading with one manager more; the present only of one that is open.
//
// Each manager sees the circuits of the whole fleet, so the most that one of them sees is how many there are: to add them
// up would count every circuit once per manager.
func (r breakerReading) with(s *sighting, open bool) breakerReading {
	for state := range r.calls {
		r.calls[state].Admitted += s.Calls[state].Admitted
		r.calls[state].Shed += s.Calls[state].Shed
		r.calls[state].ShadowShed += s.Calls[state].ShadowShed
		r.changes[state] += s.Changes[state]
	}
	for f := range r.failures {
		r.failures[f] += s.Failures[f]
	}
	if !open {
		return r
	}
	for state := range r.circuits {
		r.circuits[state] = max(r.circuits[state], s.Circuits[state])
	}
	if s.Leads {
		r.leaders++
	}
	r.failsClosed = r.failsClosed || s.OnStale == breaker.FailClosed
	if s.SnapshotAge >= 0 {
		r.hasRead, r.age = true, max(r.age, s.SnapshotAge)
	}
	r.seen = append(r.seen, s.list)
	return r
}
