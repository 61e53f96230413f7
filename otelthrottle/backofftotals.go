package otelthrottle

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/throttle/backoff"
)

// backoffs are the delays that are told of.
type backoffs = byname.Registry[*backoff.Responsive, backoff.Stats, backoffReading, *backoffLabels]

// newBackoffs returns a registry without backoffs, whose series will have these attributes too.
func newBackoffs(constants []attribute.KeyValue) *backoffs {
	return byname.New(byname.Kind[*backoff.Responsive, backoff.Stats, backoffReading, *backoffLabels]{
		Name:  func(m *backoff.Responsive) string { return labelName(m.Name()) },
		Data:  func(name string) *backoffLabels { return newBackoffLabels(name, constants) },
		Read:  (*backoff.Responsive).Stats,
		Busy:  func(s *backoff.Stats) bool { return s.Waiting > 0 },
		Add:   backoffReading.with,
		Clone: func(r backoffReading) backoffReading { return r },
	})
}

// backoffReading is what a source of backoffs shows at one collection: the totals, and the present of its open members.
type backoffReading struct {
	ups, downs                    uint64 // steps
	successes, throttled, ignored uint64 // calls
	delay                         time.Duration
	waiting                       int
}

// with returns the reading with one Responsive more; the present only of one that is open. Of several delays the highest is told: a mean
// would hide the one that stands still.
func (r backoffReading) with(s *backoff.Stats, open bool) backoffReading {
	r.ups += s.Ups
	r.downs += s.Downs
	r.successes += s.Successes
	r.throttled += s.Throttled
	r.ignored += s.Ignored
	if open {
		r.delay = max(r.delay, s.Delay)
		r.waiting += s.Waiting
	}
	return r
}
