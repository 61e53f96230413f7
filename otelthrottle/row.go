package otelthrottle

import (
	"errors"
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

//go:generate env SPILLWAY_WRITE_METRICS=1 go test -count=1 -run ^TestMetricsPage$ .

// row is one metric and all its series. Its values are read at collection, so that it costs a call nothing. R is what they are
// read from, such as the sum of all throttles of one name.
type row[R any] struct {
	kind             kind
	name, unit, help string          // the unit in the notation of UCUM
	keys             []attribute.Key // of the values that read gives to each series
	when             func(*R) bool   // whether there are any series; nil: always
	read             func(from *R, to *output)
}

// one returns a row with one series for each source.
func one[R any](k kind, name, unit, help string, read func(*R, *output)) row[R] {
	return row[R]{kind: k, name: name, unit: unit, help: help, read: read}
}

// only returns the row for sources that meet a condition.
func (r row[R]) only(when func(*R) bool) row[R] {
	r.when = when
	return r
}

// kind says what the numbers of a metric are.
type kind uint8

const (
	counter    kind = iota
	upDown          // a number that falls too, and that sums of processes make sense of
	gauge           // a whole number
	floatGauge      // any other number
)

func (k kind) instrument(meter metric.Meter, name, unit, help string) (metric.Observable, error) {
	u, d := metric.WithUnit(unit), metric.WithDescription(help)
	switch k {
	case counter:
		return meter.Int64ObservableCounter(name, u, d)
	case upDown:
		return meter.Int64ObservableUpDownCounter(name, u, d)
	case gauge:
		return meter.Int64ObservableGauge(name, u, d)
	default:
		return meter.Float64ObservableGauge(name, u, d)
	}
}

type table[R any] struct {
	rows        []row[R]
	instruments []metric.Observable // of the rows
	shapes      []int               // of the rows: the first row with the same keys
}

func (t *table[R]) create(meter metric.Meter) ([]metric.Observable, error) {
	var errs []error
	for _, r := range t.rows {
		i, err := r.kind.instrument(meter, r.name, r.unit, r.help)
		t.instruments, errs = append(t.instruments, i), append(errs, err)
		t.shapes = append(t.shapes, slices.IndexFunc(t.rows, func(other row[R]) bool { return slices.Equal(other.keys, r.keys) }))
	}
	return t.instruments, errors.Join(errs...)
}

// report reports the series of all rows of one source.
func (t *table[R]) report(out *output, a *attributes, from *R) {
	out.attributes = a
	for i, r := range t.rows {
		if r.when == nil || r.when(from) {
			out.shape, out.keys, out.instrument = t.shapes[i], r.keys, t.instruments[i]
			r.read(from, out)
		}
	}
}

// output is where a row reports its series. Values are those of its keys, in order: an empty one is no attribute.
type output struct {
	to         metric.Observer
	attributes *attributes

	shape      int
	keys       []attribute.Key
	instrument metric.Observable
}

// count reports a number of things. One that an int64 cannot hold, as the tokens of a bucket may be, is the highest that it can.
func (o *output) count(n uint64, values ...string) {
	o.number(int64(min(n, math.MaxInt64)), values...)
}

func (o *output) number(n int64, values ...string) {
	o.to.ObserveInt64(o.instrument.(metric.Int64Observable), n, o.attributes.cached(o.shape, o.keys, values)...)
}

func (o *output) float(f float64, values ...string) {
	o.to.ObserveFloat64(o.instrument.(metric.Float64Observable), f, o.attributes.cached(o.shape, o.keys, values)...)
}

// passing reports a series that comes and goes. A cache of the attributes of such would grow without bound.
func (o *output) passing(n int64, own ...attribute.KeyValue) {
	o.to.ObserveInt64(o.instrument.(metric.Int64Observable), n, o.attributes.option(own...))
}
