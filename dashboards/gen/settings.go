package main

import (
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

func mode() metric      { return name(semconv.MetricMode, "") }
func overrides() metric { return name(semconv.MetricControlOverrides, "") }
func changed() metric   { return name(semconv.MetricControlChanged, "_seconds") }

func modeName() string     { return label(semconv.KeyMode) }
func modeSource() string   { return label(semconv.KeyModeSource) }
func tuningKind() string   { return label(semconv.KeyTuningKind) }
func tuningName() string   { return label(semconv.KeyTuningName) }
func tuningSource() string { return label(semconv.KeyTuningSource) }

// isNotEnforcing selects throttles that shed nothing.
func isNotEnforcing() matcher { return differs(modeName(), throttle.ModeEnforce.String()) }

// changesOf marks when settings of the things that a variable selects were changed, in some graphs.
// Each process applies a file at its own time: the mark is the last one.
func changesOf(kind, variable string, panels ...string) grafana.Annotation {
	selector := changed().where(append(selectedJob(), equals(tuningKind(), kind), matcher(tuningName()+"=~`${"+variable+":regex}`"))...)
	return grafana.Annotation{
		Name: "Changes of settings", Color: "blue", Title: legend(tuningName()) + ": settings changed",
		Text: "By " + legend(tuningSource()) + ". The log and the status page have who, why and until when.", Panels: panels,
		Query: highest("1000 * "+selector, tuningName(), tuningSource()),
	}
}

// settingsPanels returns the panels about settings that an operator can change.
func settingsPanels() []grafana.Panel {
	ages := "time() - " + highest(changed().where(selectedJob()...), ofJob(tuningKind(), tuningName(), tuningSource())...)
	return []grafana.Panel{
		{
			Title: "Mode of throttles", Width: 7, Unit: "short", NoValue: "no throttle", View: grafana.Graph{Stacked: true},
			Description: "Throttles of all instances by mode, and who has set it: the code or an override. Only enforce " +
				"protects a backend. An override that an incident needed should end with it.",
			Targets: []grafana.Target{{
				Expr: sum(mode().of(), modeName(), modeSource()), Legend: legend(modeName()) + ", by " + legend(modeSource()),
			}},
		},
		{
			Title: "Names with overrides", Width: 7, Unit: "short", NoValue: "no package control", View: grafana.Graph{},
			Description: "Throttles, breakers, buckets and backoffs whose settings are not those of the code: the highest " +
				"number of any instance, by source. All instances have the same file, so lines that differ by instance mean " +
				"that one has refused it.",
			Targets: []grafana.Target{{Expr: highest(overrides().where(selectedJob()...), ofJob(tuningSource())...), Legend: "{{job}} " + legend(tuningSource())}},
		},
		{
			Title: "Last changes", Width: 10, Unit: "short", NoValue: "no change yet", View: grafana.Table{SortBy: []grafana.Sort{{Title: "Ago", Ascending: true}}},
			Description: "When the settings of each name were last changed, or a change ended, and by which source. The log " +
				"and the status page have who and why. A restart of a process forgets its changes.",
			Targets: []grafana.Target{{Expr: ages, Instant: true, Table: true}},
			Columns: []grafana.Column{
				{Field: tuningName(), Title: "Name"},
				{Field: tuningKind(), Title: "Kind", Width: 80},
				{Field: tuningSource(), Title: "Source", Width: 80},
				{Field: "job", Title: "Job", Width: 90},
				{Field: "Value", Title: "Ago", Unit: "s", Width: 90},
			},
		},
	}
}
