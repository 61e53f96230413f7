package main

import (
	"io/fs"
	"regexp"
	"strings"

	"github.com/spillway-go/spillway/dashboards"
	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// scope is what the alerts of a board are about.
type scope struct {
	about    subject
	alerts   string       // pattern of their names
	selected []matcher    // conditions for the selected things
	details  []string     // labels of which an alert has at most one
	down     string       // the alert that covers all others
	causes   string       // pattern of the alerts from which others follow
	link     grafana.Link // to the thing
}

// mute is a rule of Alertmanager: an alert of the source mutes those of the target, if the labels are equal.
type mute struct {
	source, target []matcher
	equal          string
}

// mutesAbout returns the rules about what has a label, from the example of Alertmanager. It leaves out conditions that the selectors
// of a scope have.
func mutesAbout(label string) (all []mute) {
	text, err := fs.ReadFile(dashboards.FS, "alertmanager/alertmanager.yml")
	if err != nil {
		panic(err) // unreachable: the file is embedded
	}
	matchers := func(lines string) (found []matcher) {
		for _, m := range regexp.MustCompile(`(?m)^ +- (\S+)$`).FindAllStringSubmatch(lines, -1) {
			if !strings.HasPrefix(m[1], "component=") && m[1] != label+`=~".+"` && m[1] != `alertname=~"Throttle.+"` {
				found = append(found, matcher(m[1]))
			}
		}
		return found
	}
	for _, rule := range strings.Split(string(text), "- source_matchers:\n")[1:] {
		source, rest, _ := strings.Cut(rule, "target_matchers:\n")
		target, equal, _ := strings.Cut(rest, "equal: [")
		equal, _, _ = strings.Cut(equal, "]")
		if strings.Contains(target, " "+label+"=") {
			all = append(all, mute{matchers(source), matchers(target), equal})
		}
	}
	return all
}

// inPlace adds the labels of the place, which series may lack: to PromQL a missing label is an empty one.
func inPlace(labels ...string) []string {
	return append([]string{"cluster", "namespace", "team"}, labels...)
}

// conditions is a list of matchers, for short.
func conditions(of ...matcher) []matcher { return of }

// scope is that of the alerts with the name of a subject.
func (s subject) scope() scope {
	return scope{about: s, alerts: "Throttle" + s.title + ".+", selected: conditions(s.selected()), link: s.alone()}
}

func throttleScope() scope {
	s := theThrottle().scope()
	s.alerts, s.details, s.down = "Throttle.+", []string{errorType(), "window"}, "ThrottleBackendDown"
	s.causes = "ThrottleBackendDown|ThrottleAvailabilityFaults|ThrottleCallsCanceled|ThrottleProcessor.+"
	s.link = theThrottle().link(availabilityUID, "Its faults")
	return s
}

// jobScope are alerts about throttles and about their processes, which have no throttle_name.
func jobScope() scope {
	s := throttleScope()
	s.selected = conditions(selectedOrNone(throttleName(), "throttle"), equals(breakerName(), ""), equals(bucketName(), ""), equals(backoffName(), ""))
	s.link = theThrottle().link(overviewUID, "What it sheds and why")
	return s
}

func breakerScope() scope {
	s := theBreaker().scope()
	s.details = []string{failure()}
	return s
}

// of selects ALERTS or ALERTS_FOR_STATE. Alerts about a whole service have no label instance, and
// many services no cluster and no namespace.
func (s scope) of(series metric, more ...matcher) string {
	all := conditions(
		matches("alertname", s.alerts), selectedOrNone("cluster", "cluster"), matches("namespace", "$namespace"),
		matches("job", "$job"), matches("instance", "($instance)?"),
	)
	return series.where(append(append(all, s.selected...), more...)...)
}

// unmuted selects the alerts that Alertmanager does not mute.
func (s scope) unmuted(more ...matcher) string {
	expr := s.of("ALERTS", more...)
	for _, m := range mutesAbout(s.about.label) {
		target := append(append(conditions(differs(s.about.label, "")), m.target...), more...)
		source := append(conditions(firing(), differs(s.about.label, "")), m.source...)
		expr += " unless (" + s.of("ALERTS", target...) + " and on (" + m.equal + ") " + s.of("ALERTS", source...) + ")"
	}
	return expr
}

func firing() matcher { return equals("alertstate", "firing") }

// worst returns the alert to look at first, with a rank as its value.
func (s scope) worst() string {
	critical := conditions(firing(), equals("severity", "critical"))
	expr := "2 * " + s.of("ALERTS", critical...) + " or " + s.of("ALERTS", firing())
	if s.causes != "" {
		expr = "4 * " + s.of("ALERTS", firing(), equals("alertname", s.down)) + " or 3 * " +
			s.of("ALERTS", append(critical, matches("alertname", s.causes))...) + " or " + expr
	}
	return worst(highest(expr, "alertname", "severity"))
}

// rulesLoaded is a series of each Prometheus that has the rules. Without them, no alert is no good news.
const rulesLoaded = "throttle:breaker_max_stale:seconds"

// alertsStat returns the number of alerts that fire, with the name and the severity of the worst.
func alertsStat(s scope, width int, links ...grafana.Link) grafana.Panel {
	count := "count(" + highest(s.unmuted(firing()), append([]string{"alertname"}, inPlace("job", s.about.label, "instance")...)...) + ")"
	return grafana.Panel{
		Title: "Alerts firing", Width: width, Unit: "short", NoValue: "no rules loaded", Steps: from(1, bad),
		Colors: []grafana.Color{{Series: "/, warning$/", Color: warn}, {Series: "/, info$/", Color: "blue"}},
		Links:  links,
		Targets: []grafana.Target{{
			Expr: "label_join(0 * " + s.worst() + " + on () group_left () " + count + `, "alertname", ", ", "alertname", "severity")` +
				" or on () " + labelReplace("vector(0) and on () "+rulesLoaded, "alertname", "none", "", ""),
			Legend: legend("alertname"),
		}},
		View: grafana.Stat{Named: true},
	}
}

// ranks are the severities, the worst first.
func ranks() []grafana.Mapping {
	return []grafana.Mapping{
		{Value: "1", Text: "critical", Color: bad}, {Value: "2", Text: "warning", Color: warn}, {Value: "3", Text: "info", Color: "blue"},
	}
}

// words are the ranks of the alerts of a scope. If it has causes, those come first: a 1 before the rank, and a 2 before that
// of the others.
func (s scope) words() []grafana.Mapping {
	if s.causes == "" {
		return ranks()
	}
	var all []grafana.Mapping
	for _, first := range []string{"1", "2"} {
		for _, m := range ranks() {
			m.Value = first + m.Value
			all = append(all, m)
		}
	}
	return all
}

// ages returns how long the condition of each alert has been true. The label severity is a rank, so
// that a table can sort by it, and detail is the label that says which part is affected.
func (s scope) ages() string {
	expr := "(time() - " + s.of("ALERTS_FOR_STATE") + ") * ignoring (alertstate) group_right () (" + s.unmuted() + ")"
	for _, rank := range ranks() {
		expr = labelReplace(expr, "severity", rank.Value, "severity", rank.Text)
	}
	if s.causes != "" {
		first := labelReplace(labelReplace(expr, "first", "2", "", ""), "first", "1", "alertname", s.causes)
		expr = `label_join(` + first + `, "severity", "", "first", "severity")`
	}
	if len(s.details) > 0 {
		expr = `label_join(` + expr + `, "detail", "", "` + strings.Join(s.details, `", "`) + `")`
	}
	return highest(expr, s.labels()...)
}

// labels are the labels of the table of alerts.
func (s scope) labels() []string {
	all := []string{"alertname", "severity", "alertstate", s.about.label}
	if len(s.details) > 0 {
		all = append(all, "detail")
	}
	return append(append(all, inPlace("job")...), "instance")
}

func alertsTable(s scope) grafana.Panel {
	runbook := grafana.Link{Title: "Runbook", URL: runbooks + "#${__data.fields.alertname}", NewTab: true}
	columns := []grafana.Column{
		{Field: "alertname", Title: "Alert", Width: 270, Links: []grafana.Link{runbook}},
		{Field: "severity", Title: "Severity", Width: 110, Words: s.words()},
		{Field: "alertstate", Title: "State", Width: 90},
		{Field: "Value", Title: "True for", Unit: "s", Width: 100},
		s.about.column(s.link),
	}
	if len(s.details) > 0 {
		columns = append(columns, grafana.Column{Field: "detail", Title: "Detail", Width: 110})
	}
	return grafana.Panel{
		Title: "Alerts", Width: 24, Unit: "short", NoValue: "no alerts",
		View: grafana.Table{SortBy: []grafana.Sort{{Title: "Severity", Ascending: true}, {Title: "True for"}}},
		Targets: []grafana.Target{{
			Expr: s.ages() + " or " + labelReplace("vector(0) unless on () "+rulesLoaded, "alertname", "No rules are loaded", "", ""),
		}},
		Columns: append(columns, grafana.Column{Field: "job", Title: "Job"}, grafana.Column{Field: "instance", Title: "Instance"},
			grafana.Column{Field: "cluster", Title: "Cluster"}, grafana.Column{Field: "namespace", Title: "Namespace"}, grafana.Column{Field: "team", Title: "Team"}),
	}
}

// beginnings marks when critical alerts began, in some graphs: the first one of each thing, because all alerts of an incident
// would hide it in a graph of a day. Only alerts that fire count: others may end without a page.
func beginnings(s scope, panels ...string) grafana.Annotation {
	critical := equals("severity", "critical")
	return grafana.Annotation{
		Name: "Critical alerts", Color: bad, Title: legend(s.about.label), Text: "The condition of its first critical alert began.", Panels: panels,
		Query: "min by (" + s.about.label + ") (1000 * " + s.of("ALERTS_FOR_STATE", critical) + " and ignoring (alertstate) " +
			s.of("ALERTS", critical, firing()) + ")",
	}
}
