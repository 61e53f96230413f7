package dashboards_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
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

// fits returns how many series a legend shows without scrolling.
func (p panel) fits() int {
	rows := int(legendShare * (gridHeight*float64(p.GridPos.H) - 48) / legendRow)
	if p.Options.Legend.DisplayMode == "list" {
		return rows * int((gridWidth*float64(p.GridPos.W)-16)/legendEntry)
	}
	return rows - 1 // the head
}

// series returns how many series a graph has at least: those that have a color of their own.
func (p panel) series() int {
	named := 0
	for _, o := range p.FieldConfig.Overrides {
		if o.Matcher.ID == "byName" {
			named++
		}
	}
	return max(named, len(p.Targets))
}

func checkLegendHeights(b board) []string {
	return b.every(func(p panel) []string {
		if p.Type == "timeseries" && p.Options.Legend != nil && p.series() > p.fits() {
			return []string{fmt.Sprintf("%d series, but a legend with room for %d: make it higher, or its legend a list", p.series(), p.fits())}
		}
		return nil
	})
}

// checkOrder wants priorities from high to low, which no order by values or names is.
func checkOrder(b board) []string {
	return b.every(func(p panel) []string {
		for _, t := range p.Targets {
			if t.Legend == "{{throttle_priority}}" && (!strings.Contains(t.Expr, `, "order", "$1", "throttle_priority", "l?(.).*")`) || p.Options.Legend.SortBy != "") {
				return []string{"priorities are not in the order high to low"}
			}
		}
		return nil
	})
}

func checkTitleWidths(b board) []string {
	return b.every(func(p panel) []string {
		room := gridWidth*float64(p.GridPos.W) - 24 - titleIcon
		if len(p.Links) > 0 {
			room -= titleIcon
		}
		if float64(len(p.Title))*titleLetter > room {
			return []string{fmt.Sprintf("the title needs %.0f pixels and has %.0f", float64(len(p.Title))*titleLetter, room)}
		}
		return nil
	})
}

// checkHeaderWidths wants room for the name of each column that has a width.
func checkHeaderWidths(b board) []string {
	return b.every(func(p panel) []string {
		var found []string
		for _, o := range p.FieldConfig.Overrides {
			var name string
			width := math.Inf(1)
			for _, property := range o.Properties {
				switch property.ID {
				case "displayName":
					_ = json.Unmarshal(property.Value, &name) // a text
				case "custom.width":
					_ = json.Unmarshal(property.Value, &width) // a number
				}
			}
			if need := titleLetter*float64(len(name)) + headerMargin; need > width {
				found = append(found, fmt.Sprintf("the column %s has %.0f pixels and needs %.0f", name, width, need))
			}
		}
		return found
	})
}

func checkBoardHeight(b board) []string {
	for _, p := range b.Panels {
		if bottom := p.GridPos.Y + p.GridPos.H; bottom > maxBoardUnits {
			return []string{fmt.Sprintf("%s ends at %d: want at most %d, and collapsed rows for the rest", p.Title, bottom, maxBoardUnits)}
		}
	}
	return nil
}

// checkAnnotations wants marks at moments: a query for states fills each graph while an alert fires.
func checkAnnotations(b board) []string {
	var found []string
	for _, a := range b.Annotations.List {
		if a.BuiltIn == 1 {
			continue
		}
		alerts := regexp.MustCompile(`^min by \(throttle_\w*name\) \(1000 \* ALERTS_FOR_STATE\{`).MatchString(a.Expr) && strings.Contains(a.Expr, `severity="critical"`)
		changes := strings.HasPrefix(a.Expr, "max by (throttle_tuning_name, throttle_tuning_source) (1000 * throttle_control_changed_seconds{")
		if !a.UseValueForTime || !alerts && !changes {
			found = append(found, a.Name+": want the time at which a critical alert began, or settings were changed: that fills nothing")
		}
		if !regexp.MustCompile("throttle_\\w*name=~`\\$\\{\\w+:regex\\}`").MatchString(a.Expr) {
			found = append(found, a.Name+": want what the board is about")
		}
		labels := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(a.Expr)
		for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(a.TitleFormat+a.TextFormat, -1) {
			if labels != nil && !slices.Contains(strings.Split(labels[1], ", "), m[1]) {
				found = append(found, a.Name+": Grafana writes the name of the label "+m[1]+", which the series does not have")
			}
		}
		if n := len(a.Filter.IDs); n < 1 || n > 2 || slices.ContainsFunc(a.Filter.IDs, func(id int) bool { return !b.hasGraph(id) }) {
			found = append(found, fmt.Sprintf("%s: on the panels %v want one or two graphs", a.Name, a.Filter.IDs))
		}
	}
	return found
}

func (b board) hasGraph(id int) bool {
	return slices.ContainsFunc(b.open(), func(p panel) bool { return p.ID == id && p.Type == "timeseries" })
}

// checkWorst wants the worst thing and its name: a mean hides a small one that fails.
func checkWorst(b board) []string {
	named := regexp.MustCompile(`^(?:label_replace\(|label_join\()*(?:0 \* )?(?:topk|bottomk)\(1, `)
	return b.every(func(p panel) []string {
		if p.Type != "stat" {
			return nil
		}
		for _, t := range p.Targets {
			counts := strings.HasPrefix(t.Expr, "sum(rate(")
			if !counts && (!named.MatchString(t.Expr) || p.Options.TextMode != "value_and_name" || !strings.Contains(t.Legend, "{{")) {
				return []string{"the number of several things: want that of the worst, and its name, in " + t.Expr}
			}
		}
		return nil
	})
}

// checkQuantileColors: exemplars are red, and p99 is no failure.
func checkQuantileColors(b board) []string {
	return b.every(func(p panel) []string {
		for _, o := range p.FieldConfig.Overrides {
			for _, property := range o.Properties {
				if o.Matcher.Options == "p99" && property.ID == "color" && strings.Contains(string(property.Value), "red") {
					return []string{"p99 is red"}
				}
			}
		}
		return nil
	})
}
