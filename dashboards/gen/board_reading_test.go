package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

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

// checkQuantileColors: exemplars are red, and p99 is no failure.
func checkQuantileColors(p panel) string {
	if slices.ContainsFunc(p.Colors, func(c grafana.Color) bool { return c.Series == "p99" && strings.Contains(c.Color, bad) }) {
		return "p99 is red"
	}
	return ""
}
