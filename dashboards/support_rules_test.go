package dashboards_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A rule checks one dashboard and returns its faults. A rule with the name of a rule of Grafana's
// dashboard-linter checks the same, or more. What package grafana makes the same for all panels has no rule.
type rule struct {
	name  string
	check func(board) []string
}

func rules() []rule {
	return []rule{
		{"uid", checkUID},
		{"title", checkTitle},
		{"template-variables", checkVariables},
		{"panel-title-description", checkDescriptions},
		{"panel-units", checkUnits},
		{"panel-no-value", checkNoValues},
		{"panel-no-targets", checkTargets},
		{"panel-legend", checkLegends},
		{"panel-thresholds", checkThresholds},
		{"panel-count", checkCount},
		{"target-rate-interval", checkWindows},
		{"target-job-instance", checkMatchers},
		{"target-counter-agg", checkCounters},
		{"target-exemplar", checkExemplars},
		{"raw-strings", checkRawStrings},
		{"links", checkLinks},
		{"legend-height", checkLegendHeights},
		{"priority-order", checkOrder},
		{"title-width", checkTitleWidths},
		{"header-width", checkHeaderWidths},
		{"board-height", checkBoardHeight},
		{"annotation-marks", checkAnnotations},
		{"stat-worst", checkWorst},
		{"quantile-color", checkQuantileColors},
	}
}

// exceptions returns the panels that may break a rule. The file .lint has the same for Grafana's
// linter.
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

func checkVariables(b board) []string {
	want := []string{"datasource", "cluster", "namespace", "job", "instance", "throttle", "priority"}
	switch b.UID { // which know no priorities
	case "throttle-breakers":
		want = []string{"datasource", "cluster", "namespace", "job", "instance", "breaker"}
	case "throttle-limits":
		want = []string{"datasource", "cluster", "namespace", "job", "instance", "bucket"}
	case "throttle-backoffs":
		want = []string{"datasource", "cluster", "namespace", "job", "instance", "backoff"}
	}
	var found, names []string
	asked := 0
	for _, v := range b.Templating.List {
		names = append(names, v.Name)
		if v.Hide != 0 {
			found = append(found, "a filter by "+v.Name+" cannot be seen")
		}
		if v.Type != "query" {
			continue
		}
		asked++
		all := ".+"
		if v.Name == "cluster" { // which many do not have
			all = ".*"
		}
		if !v.Multi || !v.IncludeAll || v.AllValue != all || v.Refresh != 2 || v.Sort != 1 ||
			!strings.EqualFold(v.Label, v.Name) || !strings.HasPrefix(v.Definition, "label_values(") {
			found = append(found, fmt.Sprintf("variable %s is %+v: want any number of values, all of them %s, sorted, asked for as the time changes", v.Name, v, all))
		}
	}
	if asked > 3 { // Grafana asks for one after another, before any panel
		found = append(found, fmt.Sprintf("%d variables ask Prometheus: want three at most", asked))
	}
	if len(names) < len(want) || !slices.Equal(names[:len(want)], want) {
		found = append(found, fmt.Sprintf("variables %v: want %v first", names, want))
	}
	return found
}
