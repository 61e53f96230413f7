package main

import (
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
	"github.com/spillway-go/spillway/throttle"
)

// The uids are part of every link, so they never change.
const (
	overviewUID     = "throttle-overview"
	availabilityUID = "throttle-availability"
	breakersUID     = "throttle-breakers"
	limitsUID       = "throttle-limits"
	backoffsUID     = "throttle-backoffs"

	// place are the variables that every dashboard has.
	place = "${datasource:queryparam}&${cluster:queryparam}&${namespace:queryparam}"

	// rowPlace are those of the row of a table that a link is in.
	rowPlace = "${datasource:queryparam}&var-cluster=${__data.fields.place:raw}"

	tag      = "spillway"
	runbooks = "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md"
)

// throttleBoard returns a dashboard of throttles. Its annotations are on the panels with the titles.
func throttleBoard(uid, title string, marked []string, rows ...grafana.Row) grafana.Dashboard {
	annotations := []grafana.Annotation{beginnings(throttleScope(), marked...), theThrottle().changes(marked...)}
	return newBoard(uid, title, variables(), annotations, rows...)
}

func newBoard(uid, title string, variables []grafana.Variable, annotations []grafana.Annotation, rows ...grafana.Row) grafana.Dashboard {
	return grafana.Dashboard{
		UID: uid, Title: "Throttle / " + title, Tags: []string{tag, "throttle"}, Links: boardLinks(uid),
		Variables: variables, Annotations: annotations, Rows: rows,
	}
}

// boardLinks returns the links at the top of a dashboard. They carry only variables that the other
// dashboard has: a job without breakers would empty the dashboard of breakers.
func boardLinks(from string) []grafana.Link {
	of := func(uid string) bool { return uid == overviewUID || uid == availabilityUID }
	var links []grafana.Link
	for _, to := range []struct{ uid, title string }{
		{overviewUID, "Overview"}, {availabilityUID, "Availability"}, {breakersUID, "Breakers"}, {limitsUID, "Limits"}, {backoffsUID, "Backoffs"},
	} {
		link := grafana.Link{Title: to.title, URL: "/d/" + to.uid + "?" + place}
		if of(from) && of(to.uid) {
			link.URL += "&${job:queryparam}&${instance:queryparam}&${throttle:queryparam}&${priority:queryparam}"
		}
		if to.uid != from {
			links = append(links, link)
		}
	}
	return append(links, grafana.Link{Title: "Runbooks", URL: runbooks, NewTab: true})
}

// placeVariables returns the variables for the data source, and for the cluster and the namespace,
// which many services do not have.
func placeVariables(of string) []grafana.Variable {
	return []grafana.Variable{
		grafana.Datasource(),
		grafana.Optional("cluster", "Cluster", "All, if no service has this label.", of),
		grafana.Text("namespace", "Namespace", "A regular expression; .* is all, also those without this label."),
	}
}

// variables returns the variables of a dashboard of throttles. Each offers the values that are left
// by those before it.
func variables() []grafana.Variable {
	return append(theThrottle().variables(requests(), "throttles", "", "Usually one per backend."),
		grafana.Several("priority", "Priority", "Panels about all priorities ignore this.",
			throttle.High.String(), throttle.Important.String(), throttle.Medium.String(), throttle.Low.String()),
	)
}

// toOverview and toAvailability return links to a dashboard that keep the selected variables.
func toOverview() grafana.Link     { return dashboardLink(overviewUID, "What is shed and why") }
func toAvailability() grafana.Link { return dashboardLink(availabilityUID, "Faults by kind") }

func dashboardLink(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?" + place + "&${job:queryparam}&${instance:queryparam}" +
		"&${throttle:queryparam}&${__url_time_range}"}
}

// subject is what the series of a dashboard are about.
type subject struct {
	label    string // with its name
	variable string // of the dashboard, with the selected names
	title    string
	board    string // the uid of its dashboard
}

func theThrottle() subject { return subject{throttleName(), "throttle", "Throttle", overviewUID} }
func theBreaker() subject  { return subject{breakerName(), "breaker", "Breaker", breakersUID} }
func theBucket() subject   { return subject{bucketName(), "bucket", "Bucket", limitsUID} }
func theBackoff() subject  { return subject{backoffName(), "backoff", "Backoff", backoffsUID} }

func (s subject) by() []string { return ofJob(s.label) }

// byProcess are those of one in one process: of two processes one may get nothing from its backend, and the sum of
// both would hide it.
func (s subject) byProcess() []string { return ofJob("instance", s.label) }

// legend names a series by its subject.
func (s subject) legend() string { return "{{job}} " + legend(s.label) }

// selected returns the condition for the selected subjects. Users choose the names, which may have quotes in them.
// Grafana does not escape these, hence the format regex and the raw string.
func (s subject) selected() matcher { return matcher(s.label + "=~`${" + s.variable + ":regex}`") }

// link returns a link from a row of a table to its subject on a dashboard.
func (s subject) link(uid, title string) grafana.Link {
	return grafana.Link{Title: title, URL: "/d/" + uid + "?" + rowPlace + "&var-job=${__data.fields.job:percentencode}" +
		"&var-" + s.variable + "=${__data.fields." + s.label + ":percentencode}&${__url_time_range}"}
}

// alone returns the link to the dashboard of the subject.
func (s subject) alone() grafana.Link { return s.link(s.board, "Only this "+s.variable) }

// column returns the column of a table with the names, and links of each.
func (s subject) column(links ...grafana.Link) grafana.Column {
	return grafana.Column{Field: s.label, Title: s.title, Links: links}
}

// variables returns the variables of a dashboard. All its subjects have the series of a metric.
func (s subject) variables(of metric, plural, processes, description string) []grafana.Variable {
	return append(placeVariables(string(of)),
		grafana.Query("job", "Job", "The services whose "+plural+" are shown.", of.where(selectedPlace()...), "job"),
		grafana.Text("instance", "Instance", "Processes of these services. "+processes+"A regular expression."),
		grafana.Query(s.variable, s.title, description, of.where(selectedJob()...), s.label),
	)
}

// table returns a table as wide as the dashboard. The columns are labels, or have the values of a query.
func table(title, noValue string, sort []grafana.Sort, columns ...grafana.Column) grafana.Panel {
	p := grafana.Panel{
		Title: title, Width: 24, Unit: "short", NoValue: noValue, View: grafana.Table{SortBy: sort}, Columns: columns,
	}
	for i := range columns {
		if c := &columns[i]; c.Expr != "" {
			c.Field = fmt.Sprintf("Value #%c", 'A'+len(p.Targets))
			p.Targets = append(p.Targets, grafana.Target{Expr: c.Expr})
		}
	}
	if len(p.Targets) == 1 { // then Grafana does not number it
		columns[slices.IndexFunc(columns, func(c grafana.Column) bool { return c.Expr != "" })].Field = "Value"
	}
	return p
}

// from returns the step to a color, from the color good.
func from(value float64, color string) []grafana.Step {
	return []grafana.Step{{Color: good}, {From: value, Color: color}}
}

// stat returns the number of a single subject, with its name.
func (s subject) stat(expr string, p grafana.Panel, steps []grafana.Step) grafana.Panel {
	if p.Ratio {
		p.Decimals = 1
	}
	p.Steps, p.View = steps, grafana.Stat{Named: true}
	return graph(expr, s.legend(), p)
}

func panelOf(title string, width int, unit, noValue string) grafana.Panel {
	return grafana.Panel{Title: title, Width: width, Unit: unit, NoValue: noValue}
}

func ratioPanel(title string, width int, noValue string) grafana.Panel {
	return grafana.Panel{Title: title, Width: width, Unit: "percentunit", Ratio: true, NoValue: noValue}
}

// graph returns a graph with the series of one query.
func graph(expr, legend string, p grafana.Panel) grafana.Panel {
	p.Targets = []grafana.Target{{Expr: expr, Legend: legend}}
	return p
}

// limited returns a panel of a graph with steps as lines.
func limited(p grafana.Panel, steps []grafana.Step) grafana.Panel {
	p.Steps, p.View = steps, grafana.Graph{Thresholds: true}
	return p
}

// graphByPriority returns a graph with a line for each priority, from high to low.
func graphByPriority(expr string, p grafana.Panel) grafana.Panel {
	p.Colors, p.View = byPriority(), grafana.Graph{InOrder: true}
	return graph(byRank(expr), legend(priority()), p)
}
