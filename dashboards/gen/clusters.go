package main

import (
	"slices"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// ofJob are the labels of a part of a service. A cluster or a namespace alone may fail, and the sum over all of them
// would hide it. To PromQL a missing label is an empty one.
func ofJob(labels ...string) []string {
	return append([]string{"cluster", "namespace", "job"}, labels...)
}

// tilesWindow is the window of numbers and tables. One that depends on the time shown would differ between both.
const tilesWindow = "5m"

// inClusters shows which cluster and which namespace a series is from: before the job in a legend, and in columns of a table.
func inClusters(p *grafana.Panel) {
	_, table := p.View.(grafana.Table)
	_, stat := p.View.(grafana.Stat)
	for i := range p.Targets {
		t := &p.Targets[i]
		if table || stat {
			t.Expr = strings.ReplaceAll(t.Expr, "$__rate_interval", tilesWindow)
		}
		if table {
			t.Expr = `label_join(` + t.Expr + `, "place", "&var-namespace=", "cluster", "namespace")`
		} else if strings.Contains(t.Legend, "{{job}}") {
			t.Expr = `label_replace(label_join(` + t.Expr + `, "job", " ", "cluster", "namespace", "job"), "job", "$1", "job", " *(.*)")`
		}
	}
	if table {
		p.Columns = placeColumns(p.Columns)
	}
}

// placeColumns adds the columns of the place before that of the job. Links of a row need the hidden one: a label that no
// series has is no field, but the joined labels always are.
func placeColumns(columns []grafana.Column) []grafana.Column {
	at := slices.IndexFunc(columns, func(c grafana.Column) bool { return c.Field == "job" })
	if at < 0 || slices.ContainsFunc(columns, func(c grafana.Column) bool { return c.Field == "cluster" }) {
		return append(columns, grafana.Column{Field: "place", Hidden: true})
	}
	return slices.Insert(columns, at, grafana.Column{Field: "cluster", Title: "Cluster"}, grafana.Column{Field: "namespace", Title: "Namespace"},
		grafana.Column{Field: "place", Hidden: true})
}

func servicesTable() grafana.Panel {
	by := ofJob()
	critical := throttleScope().of("ALERTS", firing(), equals("severity", "critical"))
	return table("Clusters and services", "no throttle", []grafana.Sort{{Title: "High failed"}, {Title: "Shed"}},
		grafana.Column{Field: "job", Title: "Service", Links: []grafana.Link{{
			Title: "Only this service", URL: "/d/" + overviewUID + "?" + rowPlace + "&var-job=${__data.fields.job:percentencode}&${__url_time_range}",
		}}},
		grafana.Column{Expr: hurtShare(highCalls, by...), Title: "High failed", Unit: "percentunit", Width: 120, Steps: thresholds(0.001, 0.01)},
		grafana.Column{Expr: shedShare(by...), Title: "Shed", Unit: "percentunit", Width: 90, Steps: thresholds(0.05, 0.5)},
		grafana.Column{Expr: sum(rate(calls().selected()), by...), Title: "Offered", Unit: "reqps", Width: 110},
		grafana.Column{Expr: aggregate("count", critical, by), Title: "Pages", Unit: "short", Width: 80, Steps: from(1, bad)},
		notEnforcing(by))
}

// notEnforcing is the column with the number of throttles that shed nothing.
func notEnforcing(by []string) grafana.Column {
	return grafana.Column{
		Expr: sum(mode().of(isNotEnforcing()), by...), Title: "Not enforcing", Unit: "short", Width: 130, Steps: from(1, warn),
	}
}
