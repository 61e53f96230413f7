package otelthrottle

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
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
	h := control.Hooks{Created: tel.controls.created(tel), Closed: tel.controls.Leave}
	if !tel.withoutSpans {
		h.Tuned = tel.tuned
	}
	return h
}

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

// newControls returns the Controls, with their metrics. They are all one source: a process has one.
func newControls(common []attribute.KeyValue) *named[*control.Control, control.Stats, controlSum] {
	registry := byname.New(byname.Kind[*control.Control, control.Stats, controlSum, *attributes]{
		Name: func(*control.Control) string { return "" },
		Data: func(*control.Control) *attributes { return newAttributes(common) },
		Read: (*control.Control).Stats,
		Add:  controlSum.add,
	})
	return &named[*control.Control, control.Stats, controlSum]{registry, table[controlSum]{rows: controlRows()}, "control"}
}

// controlRows returns the metrics of Controls. The series of all sources but the code start at 0, so that rates include the first
// change.
func controlRows() []row[controlSum] {
	watching := func(s *controlSum) bool { return s.watching > 0 }
	return []row[controlSum]{
		{
			kind: counter, name: semconv.MetricTunings, unit: "{change}",
			help: "Changes of settings that were applied, ended or refused, by source.",
			keys: []attribute.Key{semconv.KeyTuningSource, semconv.KeyTuningResult},
			read: func(s *controlSum, to *output) {
				for source := range s.tunings {
					for result, n := range s.tunings[source] {
						if source := throttle.Source(source); n > 0 || source != throttle.SourceCode {
							to.count(n, source.String(), control.Result(result).String())
						}
					}
				}
			},
		},
		{
			kind: gauge, name: semconv.MetricControlOverrides, unit: "{override}",
			help: "Names whose settings are not those of the code, by source.",
			keys: []attribute.Key{semconv.KeyTuningSource},
			read: func(s *controlSum, to *output) {
				for source, n := range s.overrides {
					if source := throttle.Source(source); source != throttle.SourceCode {
						to.number(int64(n), source.String())
					}
				}
			},
		},
		one(gauge, semconv.MetricControlBroken, "{file}", "Control files that are refused: 1 or 0.",
			func(s *controlSum, to *output) { to.number(int64(min(1, s.broken))) }).only(watching),
		{
			kind: gauge, name: semconv.MetricControlChanged, unit: "s",
			help: "When the settings of a name were last changed, in Unix time.",
			read: func(s *controlSum, to *output) {
				for _, c := range s.last {
					to.passing(c.At.Unix(), semconv.KeyTuningKind.String(c.Kind), semconv.KeyTuningName.String(validName(c.Name)),
						semconv.KeyTuningSource.String(c.Source.String()))
				}
			},
		},
		one(gauge, semconv.MetricControlVersion, "{document}",
			"A number made of the document that was last applied: processes with the same document have the same.",
			func(s *controlSum, to *output) { to.number(int64(s.version)) }).only(watching),
	}
}

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
