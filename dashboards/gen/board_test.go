package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// A rule checks one dashboard and returns its faults. A rule with the name of a rule of Grafana's dashboard-linter checks the
// same, or more. What the generator makes the same for all boards and panels has no rule.
type rule struct {
	name   string
	check  func(grafana.Dashboard) []string
	except []string // panels that may break it; the file .lint has the same for Grafana's linter
}

func rules() []rule {
	return []rule{
		{"panel-title-description", checkDescriptions, nil},
		{"panel-fields", every(checkFields), nil},
		{"panel-count", checkCount, nil},
		{"target-rate-interval", everyQuery(checkWindows), []string{ // an objective and its alerts have fixed windows
			"High succeeded, 1 h", "High failed and objective", "Budget left", "Burn rate, 1 h", "Burn rate", "Burn rate by window", "Disabled, 1 h",
		}},
		{"target-job-instance", everyQuery(checkMatchers), []string{ // alerts about a whole service have no label instance, and neither has its objective
			"Alerts firing", "Alerts", "Clusters and services", "High failed and objective", "Budget left", "Burn rate, 1 h", "Burn rate", "Burn rate by window",
		}},
		{"target-counter-agg", everyQuery(checkCounters), nil},
		{"target-exemplar", every(checkExemplars), nil},
		{"links", checkLinks, nil},
		{"priority-order", every(checkOrder), nil},
		{"annotation-marks", checkAnnotations, nil},
		{"stat-worst", every(checkWorst), nil},
	}
}

type panel struct {
	grafana.Panel
	open bool // it asks something as soon as the board is opened
}

func panels(d grafana.Dashboard) (all []panel) {
	for _, row := range d.Rows {
		for _, p := range row.Panels {
			all = append(all, panel{p, !row.Collapsed})
		}
	}
	return all
}

// every applies a check to each panel, and puts the panel's title before what it finds.
func every(check func(panel) string) func(grafana.Dashboard) []string {
	return func(d grafana.Dashboard) (found []string) {
		for _, p := range panels(d) {
			if complaint := check(p); complaint != "" {
				found = append(found, p.Title+": "+complaint)
			}
		}
		return found
	}
}

// everyQuery applies a check to the text of each query.
func everyQuery(check func(expr string) string) func(grafana.Dashboard) []string {
	return every(func(p panel) string {
		for _, t := range p.Targets {
			if complaint := check(t.Expr); complaint != "" {
				return complaint + " in " + t.Expr
			}
		}
		return ""
	})
}

func TestBoards_rules(t *testing.T) {
	lint, err := os.ReadFile("../.lint")
	if err != nil {
		t.Fatal(err)
	}
	all := boards()
	for _, r := range rules() {
		needed := map[string]bool{}
		for file, d := range all {
			for _, complaint := range r.check(d) {
				title, _, _ := strings.Cut(complaint, ": ")
				if needed[title] = true; !slices.Contains(r.except, title) {
					t.Errorf("%s: %s: %s", file, r.name, complaint)
				}
			}
		}
		for _, title := range r.except {
			if !needed[title] {
				t.Errorf("%s: the exception for %q is not needed", r.name, title)
			}
			if r.name != "target-rate-interval" && !strings.Contains(string(lint), "        panel: "+title+"\n") { // that one has no list
				t.Errorf("%s: .lint does not name %q", r.name, title)
			}
		}
	}
}

// TestBoards_rulesFindPlanted makes one thing wrong after the other with a dashboard in which nothing is.
func TestBoards_rulesFindPlanted(t *testing.T) {
	in := func(title string, change func(*grafana.Panel)) func(*grafana.Dashboard) {
		return func(d *grafana.Dashboard) {
			for _, row := range d.Rows {
				for i := range row.Panels {
					if row.Panels[i].Title == title {
						change(&row.Panels[i])
					}
				}
			}
		}
	}
	asks := func(title, old, replacement string) func(*grafana.Dashboard) {
		return in(title, func(p *grafana.Panel) { p.Targets[0].Expr = strings.Replace(p.Targets[0].Expr, old, replacement, 1) })
	}
	for _, tt := range []struct {
		rule  string
		plant func(*grafana.Dashboard)
	}{
		{"panel-title-description", in("Offered", func(p *grafana.Panel) { p.Description = "" })},
		{"panel-title-description", in("Shed", func(p *grafana.Panel) { p.Title = "Offered" })},
		{"panel-fields", in("Offered", func(p *grafana.Panel) { p.Unit = "calls" })},
		{"panel-fields", in("Offered", func(p *grafana.Panel) { p.NoValue = "" })},
		{"panel-fields", in("Call duration", func(p *grafana.Panel) { p.Targets[0].Legend = "" })},
		{"panel-fields", in("Shed", func(p *grafana.Panel) { p.Steps[1].From = 0.7 })},
		{"panel-count", func(d *grafana.Dashboard) { d.Rows[6].Collapsed, d.Rows[9].Collapsed = false, false }},
		{"target-rate-interval", asks("Shed by cause", "$__rate_interval", "3m")},
		{"target-job-instance", asks("Shed by cause", `instance=~"$instance",`, "")},
		{"target-counter-agg", asks("Shed by cause", "rate(", "(")},
		{"target-exemplar", in("Offered", func(p *grafana.Panel) { p.Targets[0].Exemplars = true })},
		{"target-exemplar", in("Call duration", func(p *grafana.Panel) { p.Targets[1].Exemplars = true })},
		{"links", func(d *grafana.Dashboard) { d.Links[0].URL = "/d/throttle-faults?" }},
		{"links", in("Throttles", func(p *grafana.Panel) {
			link := &p.Columns[slices.IndexFunc(p.Columns, func(c grafana.Column) bool { return len(c.Links) > 0 })].Links[0]
			link.URL = strings.ReplaceAll(link.URL, "throttle_name:percentencode", "throttle_name")
		})},
		{"priority-order", asks("Admitted by priority", `"order"`, `"rank"`)},
		{"annotation-marks", func(d *grafana.Dashboard) { d.Annotations[0].Title = "{{throttle_name}} {{error_type}}" }},
		{"annotation-marks", func(d *grafana.Dashboard) { d.Annotations[0].Query = "ALERTS{throttle_name=~`${throttle:regex}`}" }},
		{"annotation-marks", func(d *grafana.Dashboard) {
			d.Annotations[1].Query = strings.Replace(d.Annotations[1].Query, "throttle_tuning_name=~", "throttle_tuning_name!=", 1)
		}},
		{"annotation-marks", func(d *grafana.Dashboard) { d.Annotations[0].Panels = []string{"Shed"} }},
		{"stat-worst", asks("Shed", "topk(1, ", "avg(")},
	} {
		d := finish(overview())
		i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == tt.rule })
		before := fmt.Sprint(rules()[i].check(d))
		tt.plant(&d)
		if after := fmt.Sprint(rules()[i].check(d)); after == before {
			t.Errorf("%s: got %s with and without what was planted", tt.rule, after)
		}
	}
}

// What a dashboard may ask at once when it is opened, before Prometheus and its readers feel it.
const (
	maxOpenPanels  = 20
	maxOpenQueries = 30
)

func checkCount(d grafana.Dashboard) []string {
	open, queries := 0, 0
	for _, p := range panels(d) {
		if p.open {
			open, queries = open+1, queries+len(p.Targets)
		}
	}
	if open > maxOpenPanels || queries > maxOpenQueries {
		return []string{fmt.Sprintf("%d panels and %d queries are open: want %d and %d at most", open, queries, maxOpenPanels, maxOpenQueries)}
	}
	return nil
}

// checkWindows wants rates over what the graph's step and the scrapes need, which is the only window that suits every zoom.
func checkWindows(expr string) string {
	for _, m := range regexp.MustCompile(`\[([^\]]+)\]`).FindAllStringSubmatch(expr, -1) {
		if m[1] != "$__rate_interval" && m[1] != tilesWindow {
			return "the window " + m[0]
		}
	}
	return ""
}

// checkMatchers looks at each series that a query names.
func checkMatchers(expr string) string {
	found := regexp.MustCompile("\\w+\\{((?:[^}`\"]|`[^`]*`|\"[^\"]*\")*)\\}").FindAllStringSubmatch(expr, -1)
	if len(found) == 0 && !strings.HasPrefix(expr, "vector(") {
		return "no matchers"
	}
	for _, m := range found {
		if !strings.Contains(m[1], `job=~"$job"`) || !strings.Contains(m[1], `instance=~"$instance"`) {
			return "no matcher for job and instance"
		}
	}
	return ""
}

// checkCounters wants counters inside rate: their values mean nothing by themselves. How many series they have does.
func checkCounters(expr string) string {
	for _, m := range regexp.MustCompile(`(\S*?)\b\w+_(?:total|sum|count|bucket)\{`).FindAllStringSubmatch(expr, -1) {
		if !strings.HasSuffix(m[1], "rate(") && !strings.HasSuffix(m[1], "increase(") && !strings.Contains(expr, "count by ") {
			return "a counter outside rate"
		}
	}
	return ""
}

// checkExemplars wants traces once per graph, and only where there are some.
func checkExemplars(p panel) string {
	asked := slices.DeleteFunc(slices.Clone(p.Targets), func(t grafana.Target) bool { return !t.Exemplars })
	if len(asked) > 1 {
		return "the same exemplars are asked for more than once"
	}
	if len(asked) > 0 && !strings.Contains(asked[0].Expr, "_bucket{") {
		return "exemplars of something without buckets"
	}
	return ""
}

// checkLinks wants links by uid, to dashboards that exist, with what is chosen escaped.
func checkLinks(d grafana.Dashboard) (found []string) {
	links := slices.Clone(d.Links)
	for _, p := range panels(d) {
		links = append(links, p.Links...)
		for _, c := range p.Columns {
			links = append(links, c.Links...)
		}
	}
	uids := []string{overviewUID, availabilityUID, breakersUID, limitsUID, backoffsUID}
	escaped := regexp.MustCompile(`:(?:percentencode|queryparam)\}$|^\$\{__url_time_range\}$|^\$\{__data\.fields\.place:raw\}$`)
	for _, l := range links {
		uid, _, _ := strings.Cut(strings.TrimPrefix(l.URL, "/d/"), "?")
		switch {
		case strings.HasPrefix(l.URL, runbooks):
			continue
		case !slices.Contains(uids, uid):
			found = append(found, fmt.Sprintf("%s leads to %q: want a dashboard by its uid, or the runbooks", l.Title, l.URL))
		}
		for _, v := range regexp.MustCompile(`\$\w+|\$\{[^}]*\}`).FindAllString(l.URL, -1) {
			if !escaped.MatchString(v) {
				found = append(found, fmt.Sprintf("%s: %s is not escaped in %q", l.Title, v, l.URL))
			}
		}
	}
	return found
}

// checkAnnotations wants marks at moments: a query for states fills each graph while an alert fires.
func checkAnnotations(d grafana.Dashboard) (found []string) {
	for _, a := range d.Annotations {
		alerts := regexp.MustCompile(`^min by \(throttle_\w*name\) \(1000 \* ALERTS_FOR_STATE\{`).MatchString(a.Query) && strings.Contains(a.Query, `severity="critical"`)
		changes := strings.HasPrefix(a.Query, "max by (throttle_tuning_name, throttle_tuning_source) (1000 * throttle_control_changed_seconds{")
		if !alerts && !changes {
			found = append(found, a.Name+": want the time at which a critical alert began, or settings were changed: that fills nothing")
		}
		if !regexp.MustCompile("throttle_\\w*name=~`\\$\\{\\w+:regex\\}`").MatchString(a.Query) {
			found = append(found, a.Name+": want what the board is about")
		}
		labels := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(a.Query)
		for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(a.Title+a.Text, -1) {
			if labels != nil && !slices.Contains(strings.Split(labels[1], ", "), m[1]) {
				found = append(found, a.Name+": Grafana writes the name of the label "+m[1]+", which the series does not have")
			}
		}
		noGraph := func(title string) bool {
			return !slices.ContainsFunc(panels(d), func(p panel) bool { return p.Title == title && p.open && p.isGraph() })
		}
		if n := len(a.Panels); n < 1 || n > 2 || slices.ContainsFunc(a.Panels, noGraph) {
			found = append(found, fmt.Sprintf("%s: on the panels %q want one or two graphs", a.Name, a.Panels))
		}
	}
	return found
}

func (p panel) isGraph() bool {
	_, ok := p.View.(grafana.Graph)
	return ok || p.View == nil
}

func checkDescriptions(d grafana.Dashboard) []string {
	titles := map[string]bool{}
	return every(func(p panel) string {
		if titles[p.Title] {
			return "more than one panel is called so, and the runbooks name panels"
		}
		if titles[p.Title] = true; p.Title == "" || len(p.Description) < 60 || !strings.HasSuffix(p.Description, ".") {
			return fmt.Sprintf("description %q: want sentences: what it is, what is good, what to do", p.Description)
		}
		return ""
	})(d)
}

// checkFields wants what a reader of a panel needs. Without a step above the first everything has one color, and the value that
// matters cannot be seen.
func checkFields(p panel) string {
	_, bars := p.View.(grafana.Bars)
	switch {
	case !slices.Contains([]string{"reqps", "s", "percentunit", "short"}, p.Unit) && !strings.HasPrefix(p.Unit, "suffix:"):
		return fmt.Sprintf("the unit %q", p.Unit)
	case p.NoValue == "":
		return "NoValue is empty: Grafana would say No data, as if something were broken"
	case p.isGraph() && slices.ContainsFunc(p.Targets, func(t grafana.Target) bool { return t.Legend == "" }):
		return "a query has no legend"
	case bars && len(p.Steps) < 2:
		return "bars without thresholds are all alike"
	}
	for i := 2; i < len(p.Steps); i++ {
		if p.Steps[i].From <= p.Steps[i-1].From {
			return "the thresholds do not rise"
		}
	}
	return ""
}

// checkOrder wants priorities from high to low, which no order by values or names is.
func checkOrder(p panel) string {
	for _, t := range p.Targets {
		ordered := strings.Contains(t.Expr, `, "order", "$1", "throttle_priority", "l?(.).*")`)
		if g, _ := p.View.(grafana.Graph); t.Legend == legend(priority()) && (!ordered || !g.InOrder) {
			return "priorities are not in the order high to low"
		}
	}
	return ""
}

// checkWorst wants the worst thing and its name: a mean hides a small one that fails.
func checkWorst(p panel) string {
	s, ok := p.View.(grafana.Stat)
	named := regexp.MustCompile(`^(?:label_replace\(|label_join\()*(?:0 \* )?(?:topk|bottomk)\(1, `)
	for _, t := range p.Targets {
		counts := strings.HasPrefix(t.Expr, "sum(rate(")
		if ok && !counts && (!named.MatchString(t.Expr) || !s.Named || !strings.Contains(t.Legend, "{{")) {
			return "the number of several things: want that of the worst, and its name, in " + t.Expr
		}
	}
	return ""
}
