package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/dashboards/internal/grafana"
)

// The sizes of Grafana in pixels, measured in 12.3 on a screen of 1280 with the menu open. They are guesses on the safe side.
const (
	gridHeight    = 38   // a grid unit and the gap below it
	gridWidth     = 39.5 // a column
	titleLetter   = 7.6
	titleIcon     = 24
	headerMargin  = 28   // of a column, with the arrow of its order
	legendRow     = 22.5 // of a table, and a line of a list
	legendShare   = 0.35 // of the panel below its title that a legend may take
	legendEntry   = 150  // of a list
	maxBoardUnits = 52   // two screens of 1080, without the bar at the top
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

// checkLegendHeight wants room for the series of a graph: those that have a color of their own, at least.
func checkLegendHeight(p panel) string {
	if !p.isGraph() {
		return ""
	}
	named := 0
	for _, c := range p.Colors {
		if !strings.HasPrefix(c.Series, "/") {
			named++
		}
	}
	series, room := max(named, len(p.Targets)), int(legendShare*(gridHeight*float64(p.height)-48)/legendRow)
	if g, _ := p.View.(grafana.Graph); g.Short {
		room *= int((gridWidth*float64(p.Width) - 16) / legendEntry)
	} else {
		room-- // the head
	}
	if series > room {
		return fmt.Sprintf("%d series, but a legend with room for %d: make it higher, or its legend a list", series, room)
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

func checkTitleWidth(p panel) string {
	room := gridWidth*float64(p.Width) - 24 - titleIcon
	if _, stat := p.View.(grafana.Stat); len(p.Links) > 0 && !stat { // whose number has the links
		room -= titleIcon
	}
	if need := float64(len(p.Title)) * titleLetter; need > room {
		return fmt.Sprintf("the title needs %.0f pixels and has %.0f", need, room)
	}
	return ""
}

// checkHeaderWidths wants room for the name of each column that has a width.
func checkHeaderWidths(p panel) string {
	for _, c := range p.Columns {
		if need := titleLetter*float64(len(c.Title)) + headerMargin; c.Width > 0 && need > float64(c.Width) {
			return fmt.Sprintf("the column %s has %d pixels and needs %.0f", c.Title, c.Width, need)
		}
	}
	return ""
}

func checkBoardHeight(d grafana.Dashboard) []string {
	units := 0
	for _, row := range d.Rows {
		if row.Title != "" {
			units++
		}
		width := 24
		for _, p := range row.Panels {
			if width += p.Width; width > 24 && !row.Collapsed {
				width, units = p.Width, units+row.Height
			}
		}
	}
	if units > maxBoardUnits {
		return []string{fmt.Sprintf("the board ends at %d: want at most %d, and collapsed rows for the rest", units, maxBoardUnits)}
	}
	return nil
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
