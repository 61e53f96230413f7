package main

import (
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

func mode() metric      { return metricOf(semconv.MetricMode, "") }
func overrides() metric { return metricOf(semconv.MetricControlOverrides, "") }
func changed() metric   { return metricOf(semconv.MetricControlChanged, "_seconds") }
func version() metric   { return metricOf(semconv.MetricControlVersion, "") }
func broken() metric    { return metricOf(semconv.MetricControlBroken, "") }

func modeName() string     { return label(semconv.KeyMode) }
func modeSource() string   { return label(semconv.KeyModeSource) }
func tuningKind() string   { return label(semconv.KeyTuningKind) }
func tuningName() string   { return label(semconv.KeyTuningName) }
func tuningSource() string { return label(semconv.KeyTuningSource) }

// isNotEnforcing selects throttles that shed nothing.
func isNotEnforcing() matcher { return differs(modeName(), throttle.ModeEnforce.String()) }

// changes marks when settings of the selected subjects were changed, in some graphs. Each process applies a file at its
// own time: the mark is the last one.
func (s subject) changes(panels ...string) grafana.Annotation {
	selected := subject{label: tuningName(), variable: s.variable}.selected()
	selector := changed().where(append(selectedJob(), equals(tuningKind(), s.variable), selected)...)
	return grafana.Annotation{
		Name: "Changes of settings", Color: "blue", Title: legend(tuningName()) + ": settings changed",
		Text: "By " + legend(tuningSource()) + ". The log and the status page have who, why and until when.", Panels: panels,
		Query: highest("1000 * "+selector, tuningName(), tuningSource()),
	}
}

func documentsTable() grafana.Panel {
	count := func(of string) string {
		return "count_values by (" + strings.Join(ofJob(), ", ") + `) ("document", ` + of + ")"
	}
	applied := version().where(selectedJob()...)
	refused := applied + " and on (" + strings.Join(ofJob("instance"), ", ") + ") (" + broken().where(selectedJob()...) + " > 0)"
	return table("Control documents", "no document is watched", []grafana.Sort{{Title: "Service"}},
		grafana.Column{Field: "job", Title: "Service"},
		grafana.Column{Field: "document", Title: "Document", Width: 200},
		grafana.Column{Expr: count(applied), Title: "Processes", Unit: "short", Width: 120},
		grafana.Column{Expr: count(refused), Title: "Refused", Unit: "short", Width: 110, Steps: from(1, bad)})
}

func settingsPanels() []grafana.Panel {
	ages := "time() - " + highest(changed().where(selectedJob()...), ofJob(tuningKind(), tuningName(), tuningSource())...)
	changes := table("Last changes", "no change yet", []grafana.Sort{{Title: "Ago", Ascending: true}},
		grafana.Column{Field: tuningName(), Title: "Name"},
		grafana.Column{Field: tuningKind(), Title: "Kind", Width: 80},
		grafana.Column{Field: tuningSource(), Title: "Source", Width: 80},
		grafana.Column{Field: "job", Title: "Job", Width: 90},
		grafana.Column{Expr: ages, Title: "Ago", Unit: "s", Width: 90})
	changes.Width = 10
	return []grafana.Panel{
		documentsTable(),
		graph(sum(mode().of(), modeName(), modeSource()), legend(modeName())+", by "+legend(modeSource()), grafana.Panel{
			Title: "Mode of throttles", Width: 7, Unit: "short", NoValue: "no throttle", View: grafana.Graph{Stacked: true},
		}),
		graph(highest(overrides().where(selectedJob()...), ofJob(tuningSource())...), "{{job}} "+legend(tuningSource()),
			panelOf("Names with overrides", 7, "short", "no package control")),
		changes,
	}
}
