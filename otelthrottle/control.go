package otelthrottle

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/internal/byname"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// ControlHooks returns the hooks for the Config of a Control.
func (tel *Telemetry) ControlHooks() control.Hooks {
	if !tel.valid() {
		return control.Hooks{}
	}
	h := control.Hooks{Created: join(tel, tel.controls), Closed: tel.controls.Leave}
	if !tel.withoutSpans {
		h.Tuned = tel.tuned
	}
	return h
}

// tuned adds an event to the span of the change, if it is recording.
func (tel *Telemetry) tuned(ctx context.Context, e control.TunedEvent) {
	span := trace.SpanFromContext(ctx)
	if tel.ended.Load() || !span.IsRecording() {
		return
	}
	var values []string
	for _, d := range e.Values {
		values = append(values, d.Name+"="+d.New)
	}
	addEvent(span, eventTuned, semconv.KeyTuningKind.String(e.Kind), semconv.KeyTuningName.String(validName(e.Name)),
		semconv.KeyTuningSource.String(e.Source.String()), semconv.KeyTuningResult.String(e.Result.String()), keyTuningValues.String(strings.Join(values, " ")),
		keyTuningBy.String(validName(e.By)), keyTuningReason.String(validName(e.Reason)))
}

// controlRegistry holds the Controls, which are all one source: a process has one.
type controlRegistry = byname.Registry[*control.Control, control.Stats, controlSum, *controlAttributes]

func newControlRegistry(common []attribute.KeyValue) *controlRegistry {
	return byname.New(byname.Kind[*control.Control, control.Stats, controlSum, *controlAttributes]{
		Name:  func(*control.Control) string { return "" },
		Data:  func(*control.Control) *controlAttributes { return newControlAttributes(common) },
		Read:  (*control.Control).Stats,
		Busy:  func(*control.Stats) bool { return false },
		Add:   controlSum.add,
		Clone: func(s controlSum) controlSum { return s },
	})
}

// controlSum is the sum of all Controls.
type controlSum struct {
	tunings   [throttle.NumSources][control.NumResults]uint64
	overrides [throttle.NumSources]int // of open ones
	watching  int
	broken    int
	version   uint32 // of the document of the last one that has one
	last      []control.LastChange
}

// add adds one Control. A closed one adds its counters only.
func (s controlSum) add(c *control.Stats, open bool) controlSum {
	for source := range c.Tunings {
		for result, n := range c.Tunings[source] {
			s.tunings[source][result] += n
		}
		if open {
			s.overrides[source] += c.Overrides[source]
		}
	}
	if open {
		s.last = append(s.last, c.Last...)
	}
	if open && c.Watching {
		s.watching++
		s.version = c.Version
		if c.Broken {
			s.broken++
		}
	}
	return s
}

// controlInstruments are the metrics of Controls.
type controlInstruments struct {
	tunings   metric.Int64ObservableCounter
	overrides metric.Int64ObservableGauge
	broken    metric.Int64ObservableGauge
	version   metric.Int64ObservableGauge
	changed   metric.Int64ObservableGauge
}

func newControlInstruments(meter metric.Meter) (controlInstruments, error) {
	var i controlInstruments
	errs := make([]error, 5)
	i.tunings, errs[0] = meter.Int64ObservableCounter(semconv.MetricTunings, metric.WithUnit(unitChange),
		metric.WithDescription("Changes of settings that were applied, ended or refused, by source."))
	i.overrides, errs[1] = meter.Int64ObservableGauge(semconv.MetricControlOverrides, metric.WithUnit(unitOverride),
		metric.WithDescription("Names whose settings are not those of the code, by source."))
	i.broken, errs[2] = meter.Int64ObservableGauge(semconv.MetricControlBroken, metric.WithUnit(unitFile),
		metric.WithDescription("Control files that are refused: 1 or 0."))
	i.changed, errs[3] = meter.Int64ObservableGauge(semconv.MetricControlChanged, metric.WithUnit(unitSecond),
		metric.WithDescription("When the settings of a name were last changed, in Unix time."))
	i.version, errs[4] = meter.Int64ObservableGauge(semconv.MetricControlVersion, metric.WithUnit(unitDocument),
		metric.WithDescription("A number made of the document that was last applied: processes with the same document have the same."))
	return i, errors.Join(errs...)
}

// observed returns the instruments that the callback reports.
func (i *controlInstruments) observed() []metric.Observable {
	return []metric.Observable{i.tunings, i.overrides, i.broken, i.changed, i.version}
}

// controlAttributes caches the attributes of the series of Controls.
type controlAttributes struct {
	common  []attribute.KeyValue
	source  []metric.ObserveOption
	sources [throttle.NumSources][]metric.ObserveOption
	results [throttle.NumSources][control.NumResults][]metric.ObserveOption
}

func newControlAttributes(common []attribute.KeyValue) *controlAttributes {
	a := &controlAttributes{common: common}
	a.source = a.set()
	for s := range throttle.Source(throttle.NumSources) {
		source := semconv.KeyTuningSource.String(s.String())
		a.sources[s] = a.set(source)
		for r := range control.Result(control.NumResults) {
			a.results[s][r] = a.set(source, semconv.KeyTuningResult.String(r.String()))
		}
	}
	return a
}

// set returns the option of these attributes beside the common ones.
func (a *controlAttributes) set(own ...attribute.KeyValue) []metric.ObserveOption {
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(append(slices.Clone(a.common), own...)...))}
}

// controlReport reports all Controls.
type controlReport struct {
	to          metric.Observer
	instruments *controlInstruments
	attributes  *controlAttributes
}

// report reports everything. The series of all sources but the code start at 0, so that rates
// include the first change.
func (r *controlReport) report(sum *controlSum) {
	i, a := r.instruments, r.attributes
	for source := range sum.tunings {
		if source := throttle.Source(source); source != throttle.SourceCode {
			r.to.ObserveInt64(i.overrides, int64(sum.overrides[source]), a.sources[source]...)
		}
		for result, n := range sum.tunings[source] {
			if n > 0 || throttle.Source(source) != throttle.SourceCode {
				r.to.ObserveInt64(i.tunings, int64(n), a.results[source][result]...)
			}
		}
	}
	for _, c := range sum.last {
		r.to.ObserveInt64(i.changed, c.At.Unix(), a.set(semconv.KeyTuningKind.String(c.Kind), semconv.KeyTuningName.String(validName(c.Name)), semconv.KeyTuningSource.String(c.Source.String()))...)
	}
	if sum.watching > 0 {
		r.to.ObserveInt64(i.broken, int64(min(1, sum.broken)), a.source...)
		r.to.ObserveInt64(i.version, int64(sum.version), a.source...)
	}
}
