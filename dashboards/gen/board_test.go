package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// A rule checks one dashboard and returns its faults. A rule with the name of a rule of Grafana's dashboard-linter checks the
// same, or more. What the generator makes the same for all boards and panels has no rule.
type rule struct {
	name  string
	check func(grafana.Dashboard) []string
}

func rules() []rule {
	return []rule{
		{"panel-title-description", checkDescriptions},
		{"panel-units", every(checkUnit)},
		{"panel-no-value", every(checkNoValue)},
		{"panel-legend", every(checkLegend)},
		{"panel-thresholds", every(checkThresholds)},
		{"panel-count", checkCount},
		{"target-rate-interval", everyQuery(checkWindows)},
		{"target-job-instance", everyQuery(checkMatchers)},
		{"target-counter-agg", everyQuery(checkCounters)},
		{"target-exemplar", every(checkExemplars)},
		{"links", checkLinks},
		{"priority-order", every(checkOrder)},
		{"annotation-marks", checkAnnotations},
		{"stat-worst", every(checkWorst)},
	}
}

// exceptions returns the panels that may break a rule. The file .lint has the same for Grafana's linter.
func exceptions() map[string][]string {
	return map[string][]string{
		// Panels about an objective and about its alerts have fixed windows.
		"target-rate-interval": {"High succeeded, 1 h", "High failed and objective", "Budget left", "Burn rate, 1 h", "Burn rate", "Burn rate by window", "Disabled, 1 h"},
		// Alerts about a whole service have no label instance, and neither has its objective.
		"target-job-instance": {
			"Alerts firing", "Alerts", "Clusters and services", "High failed and objective", "Budget left", "Burn rate, 1 h", "Burn rate", "Burn rate by window",
		},
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
		excused := exceptions()[r.name]
		needed := map[string]bool{}
		for file, d := range all {
			for _, complaint := range r.check(d) {
				title, _, _ := strings.Cut(complaint, ": ")
				if needed[title] = true; !slices.Contains(excused, title) {
					t.Errorf("%s: %s: %s", file, r.name, complaint)
				}
			}
		}
		for _, title := range excused {
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
		{"panel-units", in("Offered", func(p *grafana.Panel) { p.Unit = "calls" })},
		{"panel-no-value", in("Offered", func(p *grafana.Panel) { p.NoValue = "" })},
		{"panel-legend", in("Call duration", func(p *grafana.Panel) { p.Targets[0].Legend = "" })},
		{"panel-thresholds", in("Shed", func(p *grafana.Panel) { p.Steps[1].From = 0.7 })},
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
