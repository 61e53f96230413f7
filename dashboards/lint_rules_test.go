package dashboards_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A rule looks at one dashboard and returns what is wrong with it. Those with a name that Grafana's dashboard-linter knows check the
// same, or more.
type rule struct {
	name  string
	check func(board) []string
}

func rules() []rule {
	return []rule{
		{"uid", checkUID},
		{"title", checkTitle},
		{"provisioning", checkProvisioning},
		{"schema", checkSchema},
		{"uneditable-dashboard", checkUneditable},
		{"template-datasource", checkDatasourceVariable},
		{"template-variables", checkVariables},
		{"panel-type", checkPanelTypes},
		{"panel-datasource", checkDatasources},
		{"panel-title-description", checkDescriptions},
		{"panel-units", checkUnits},
		{"panel-no-value", checkNoValues},
		{"panel-no-targets", checkTargets},
		{"panel-legend", checkLegends},
		{"panel-thresholds", checkThresholds},
		{"panel-places", checkPlaces},
		{"panel-count", checkCount},
		{"target-rate-interval", checkWindows},
		{"target-job-instance", checkMatchers},
		{"target-counter-agg", checkCounters},
		{"target-exemplar", checkExemplars},
		{"raw-strings", checkRawStrings},
		{"links", checkLinks},
	}
}

// exceptions are what may be, and why. The file .lint tells the same to Grafana's own linter.
func exceptions() map[string][]string {
	return map[string][]string{
		// An objective is about the time shown, and its alerts about fixed windows.
		"target-rate-interval": {"High succeeded", "Budget left", "Burn rate, last hour", "How fast the budget burns", "Burn rate by window"},
		// Alerts about a whole service bear no instance.
		"target-job-instance": {"Alerts firing", "Alerts"},
	}
}

func checkUID(b board) []string {
	if !regexp.MustCompile(`^throttle-[a-z-]{1,31}$`).MatchString(b.UID) {
		return []string{fmt.Sprintf("uid %q: want throttle- and a word, at most 40 letters: links go by it", b.UID)}
	}
	return nil
}

func checkTitle(b board) []string {
	if !strings.HasPrefix(b.Title, "Throttle / ") || b.Description == "" || !slices.Contains(b.Tags, "spillway") {
		return []string{fmt.Sprintf("title %q, tags %q, description %q: want Throttle / and a name, the tag spillway, a description", b.Title, b.Tags, b.Description)}
	}
	return nil
}

// checkProvisioning refuses what only the wizard for imports understands, and what belongs to one Grafana alone.
func checkProvisioning(b board) []string {
	var found []string
	for _, key := range []string{"id", "__inputs", "__requires", "__elements", "version", "gnetId"} {
		if _, ok := b.keys[key]; ok {
			found = append(found, key+" is there: a Grafana that provisions from files does not resolve it")
		}
	}
	return found
}

func checkSchema(b board) []string {
	_, isText := b.Refresh.(string)
	if b.SchemaVersion != 39 || !isText || b.GraphTooltip != 1 || b.Timezone == "" {
		return []string{fmt.Sprintf("schemaVersion %d, refresh %v, graphTooltip %d: want 39, a text, 1", b.SchemaVersion, b.Refresh, b.GraphTooltip)}
	}
	return nil
}

func checkUneditable(b board) []string {
	if b.Editable == nil || *b.Editable {
		return []string{"editable: changes made in Grafana would be lost at the next start"}
	}
	return nil
}

func checkDatasourceVariable(b board) []string {
	if len(b.Templating.List) == 0 {
		return []string{"no variables"}
	}
	v := b.Templating.List[0]
	current, _ := v.Current.(map[string]any)
	if v.Name != "datasource" || v.Label != "Data source" || v.Type != "datasource" || v.Query != "prometheus" || len(current) > 0 {
		return []string{fmt.Sprintf("the first variable is %+v: want datasource, of type datasource, for prometheus, with nothing saved", v)}
	}
	return nil
}

func checkVariables(b board) []string {
	want := []string{"datasource", "job", "instance", "throttle", "priority"}
	if b.UID == "throttle-breakers" {
		want = []string{"datasource", "job", "instance", "breaker"} // which know no priorities
	}
	var found, names []string
	for _, v := range b.Templating.List {
		names = append(names, v.Name)
		if v.Type != "query" {
			continue
		}
		if !v.Multi || !v.IncludeAll || v.AllValue != ".+" || v.Refresh != 2 || v.Sort != 1 || !isVariable(v.Datasource) ||
			!strings.EqualFold(v.Label, v.Name) || !strings.HasPrefix(v.Definition, "label_values(") {
			found = append(found, fmt.Sprintf("variable %s is %+v: want any number of values, all of them .+, sorted, asked for as the time changes", v.Name, v))
		}
	}
	if len(names) < len(want) || !slices.Equal(names[:len(want)], want) {
		found = append(found, fmt.Sprintf("variables %v: want %v first", names, want))
	}
	return found
}

func isVariable(d *datasource) bool {
	return d != nil && d.Type == "prometheus" && d.UID == "${datasource}"
}

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

func checkPanelTypes(b board) []string {
	known := []string{"stat", "timeseries", "table", "bargauge"}
	return b.every(func(p panel) []string {
		if !slices.Contains(known, p.Type) {
			return []string{fmt.Sprintf("type %q: want one of %v", p.Type, known)}
		}
		return nil
	})
}

func checkDatasources(b board) []string {
	found := b.every(func(p panel) []string {
		ok := isVariable(p.Datasource)
		for _, t := range p.Targets {
			ok = ok && isVariable(t.Datasource)
		}
		if !ok {
			return []string{"a data source is not ${datasource}"}
		}
		return nil
	})
	for _, a := range b.Annotations.List {
		if a.BuiltIn == 0 && !isVariable(a.Datasource) {
			found = append(found, a.Name+": the annotation's data source is not ${datasource}")
		}
	}
	return found
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
		if d := p.FieldConfig.Defaults; !slices.Contains(known, d.Unit) || d.Unit != "percentunit" && d.Min == nil {
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
		if l == nil || l.DisplayMode != "table" || l.Placement != "bottom" || l.SortBy != "Max" || !slices.Equal(l.Calcs, []string{"mean", "max", "lastNotNull"}) {
			return []string{fmt.Sprintf("legend %+v: want a table below with mean, max and last, the largest first", l)}
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

func checkPlaces(b board) []string {
	var found []string
	ids := map[int]bool{}
	check := func(panels []panel) {
		taken := map[[2]int]string{}
		for _, p := range panels {
			if p.ID == 0 || ids[p.ID] {
				found = append(found, fmt.Sprintf("%s: id %d is taken or 0", p.Title, p.ID))
			}
			ids[p.ID] = true
			if g := p.GridPos; g.X < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
				found = append(found, fmt.Sprintf("%s: %+v is not within 24 columns", p.Title, g))
				continue
			}
			if other := occupy(taken, p); other != "" {
				found = append(found, p.Title+" overlaps "+other)
			}
		}
	}
	check(b.Panels)
	for _, p := range b.Panels {
		check(p.Panels)
	}
	return found
}

// occupy takes the cells of a panel, and returns who has one of them already.
func occupy(taken map[[2]int]string, p panel) (other string) {
	for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			if was, ok := taken[[2]int{x, y}]; ok {
				other = was
			}
			taken[[2]int{x, y}] = p.Title
		}
	}
	return other
}
