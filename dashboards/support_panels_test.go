package dashboards_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// every applies a check to each panel, and puts the panel's title before what it finds.
func (b board) every(check func(panel) []string) []string {
	var found []string
	for _, p := range b.panels() {
		for _, complaint := range check(p) {
			found = append(found, p.Title+": "+complaint)
		}
	}
	return found
}

// everyTarget applies a check to the text of each query.
func (b board) everyTarget(check func(expr string) string) []string {
	return b.every(func(p panel) []string {
		var found []string
		for _, t := range p.Targets {
			if complaint := check(t.Expr); complaint != "" {
				found = append(found, complaint+" in "+t.Expr)
			}
		}
		return found
	})
}

func checkDescriptions(b board) []string {
	titles := map[string]int{}
	found := b.every(func(p panel) []string {
		titles[p.Title]++
		if p.Title == "" || len(p.Description) < 60 || !strings.HasSuffix(p.Description, ".") {
			return []string{fmt.Sprintf("description %q: want sentences: what it is, what is good, what to do", p.Description)}
		}
		return nil
	})
	for _, title := range slices.Sorted(maps.Keys(titles)) {
		if titles[title] > 1 {
			found = append(found, title+": more than one panel is called so, and the runbooks name panels")
		}
	}
	return found
}

func checkUnits(b board) []string {
	known := []string{"reqps", "s", "percentunit", "short", "bytes"}
	return b.every(func(p panel) []string {
		if d := p.FieldConfig.Defaults; !slices.Contains(known, d.Unit) && !strings.HasPrefix(d.Unit, "suffix:") || d.Unit != "percentunit" && d.Min == nil {
			return []string{fmt.Sprintf("unit %q, min %v: want one of %v, from 0", d.Unit, d.Min, known)}
		}
		return nil
	})
}

func checkNoValues(b board) []string {
	return b.every(func(p panel) []string {
		if p.FieldConfig.Defaults.NoValue == "" {
			return []string{"noValue is empty: Grafana would say No data, as if something were broken"}
		}
		return nil
	})
}

func checkTargets(b board) []string {
	return b.every(func(p panel) []string {
		if len(p.Targets) == 0 {
			return []string{"asks nothing"}
		}
		seen := map[string]bool{}
		for _, t := range p.Targets {
			if t.Expr == "" || t.RefID == "" || seen[t.RefID] || p.Type == "table" != (t.Format == "table") {
				return []string{fmt.Sprintf("target %+v: want a query with a name of its own, as a table for tables", t)}
			}
			seen[t.RefID] = true
		}
		return nil
	})
}

func checkLegends(b board) []string {
	return b.every(func(p panel) []string {
		if p.Type != "timeseries" {
			return nil
		}
		l := p.Options.Legend
		table := l != nil && l.DisplayMode == "table" && slices.Contains([]string{"Max", ""}, l.SortBy) && slices.Equal(l.Calcs, []string{"max", "last"})
		list := l != nil && l.DisplayMode == "list" && len(l.Calcs) == 0
		if l == nil || l.Placement != "bottom" || !table && !list {
			return []string{fmt.Sprintf("legend %+v: want a table below with max and last, or a list of names", l)}
		}
		for _, t := range p.Targets {
			if t.Legend == "" {
				return []string{"a query has no legend: " + t.Expr}
			}
		}
		return nil
	})
}

// checkThresholds: without a step above the first everything has one color, and the value that matters cannot be seen.
func checkThresholds(b board) []string {
	return b.every(func(p panel) []string {
		steps := p.FieldConfig.Defaults.Thresholds.Steps
		if len(steps) == 0 || steps[0].Value != nil {
			return []string{"the first threshold has a lower end"}
		}
		for i, s := range steps[1:] {
			if s.Value == nil || i > 0 && *s.Value <= *steps[i].Value {
				return []string{"the thresholds do not rise"}
			}
		}
		if p.Type == "bargauge" && len(steps) < 2 {
			return []string{"bars without thresholds are all alike"}
		}
		return nil
	})
}
