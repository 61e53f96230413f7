package otelthrottle

import (
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/internal/byname"
)

// observer makes instruments, and reports them at each collection.
type observer interface {
	create(metric.Meter) ([]metric.Observable, error)
	collect(to metric.Observer)
}

// system is one kind of member, such as all backoffs. M is a member, S its snapshot, R the sum of all members of one name, and D
// the attributes of that name.
type system[M comparable, S, R any, D interface{ base() *attributes }] struct {
	*byname.Registry[M, S, R, D]
	table[R]
	noun string
}

type named[M comparable, S, R any] = system[M, S, R, *attributes]

// newNamed returns a system whose series have the common attributes and the name of the member.
func newNamed[M interface {
	comparable
	Name() string
}, S, R any](
	noun string, name attribute.Key, common []attribute.KeyValue, k byname.Kind[M, S, R, *attributes], rows []row[R],
) *named[M, S, R] {
	k.Name = func(m M) string { return validName(m.Name()) }
	k.Data = func(m M) *attributes { return newAttributes(common, name.String(validName(m.Name()))) }
	return &named[M, S, R]{byname.New(k), table[R]{rows: rows}, noun}
}

// created returns a Created hook that adds a member, until Shutdown.
func (s *system[M, S, R, D]) created(tel *Telemetry) func(M) {
	return func(m M) {
		if !tel.ended.Load() {
			s.Join(m)
		}
	}
}

// collect reports all sources. An error of one source goes to otel.Handle: if the callback returned it, a reader might discard
// the whole collection.
func (s *system[M, S, R, D]) collect(to metric.Observer) {
	out := &output{to: to}
	for _, source := range s.Sources() {
		sum, open, err := source.Read()
		if err != nil {
			otel.Handle(fmt.Errorf("otelthrottle: this collection leaves out %s %q: %w", s.noun, source.Name, err))
		}
		if open {
			s.report(out, source.Data.base(), &sum)
		}
	}
}

// single is a table that is read from one thing, of which each process has one.
type single[R any] struct {
	table[R]
	attributes *attributes
	value      func() R
}

func (s *single[R]) collect(to metric.Observer) {
	value := s.value()
	s.report(&output{to: to}, s.attributes, &value)
}
