package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

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
	asked := 0
	for _, t := range p.Targets {
		if t.Exemplars && !strings.Contains(t.Expr, "_bucket{") {
			return "exemplars of something without buckets"
		}
		if t.Exemplars {
			asked++
		}
	}
	if asked > 1 {
		return "the same exemplars are asked for more than once"
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

func checkUnit(p panel) string {
	if !slices.Contains([]string{"reqps", "s", "percentunit", "short"}, p.Unit) && !strings.HasPrefix(p.Unit, "suffix:") {
		return fmt.Sprintf("the unit %q", p.Unit)
	}
	return ""
}

func checkNoValue(p panel) string {
	if p.NoValue == "" {
		return "NoValue is empty: Grafana would say No data, as if something were broken"
	}
	return ""
}

func checkLegend(p panel) string {
	if p.isGraph() && slices.ContainsFunc(p.Targets, func(t grafana.Target) bool { return t.Legend == "" }) {
		return "a query has no legend"
	}
	return ""
}

// checkThresholds: without a step above the first everything has one color, and the value that matters cannot be seen.
func checkThresholds(p panel) string {
	if _, bars := p.View.(grafana.Bars); bars && len(p.Steps) < 2 {
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
