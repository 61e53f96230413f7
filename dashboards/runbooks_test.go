package dashboards_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRunbooksNamePanels: whoever is sent to a panel finds it.
func TestRunbooksNamePanels(t *testing.T) {
	titles := map[string][]string{}
	for _, b := range boards(t) {
		name := strings.TrimPrefix(b.Title, "Throttle / ")
		for _, p := range b.panels() {
			titles[name] = append(titles[name], p.Title)
		}
		for _, p := range b.Panels {
			titles[name] = append(titles[name], p.Title) // rows too
		}
	}
	named := regexp.MustCompile(`\*(Overview|Availability|Breakers|Limits) → ([^*]+)\*`).FindAllStringSubmatch(string(readFile(t, "runbooks.md")), -1)
	if len(named) < 10 {
		t.Errorf("runbooks: got %d panels named want ten at least", len(named))
	}
	for _, m := range named {
		title := strings.Join(strings.Fields(m[2]), " ") // a line may end within
		if !slices.Contains(titles[m[1]], title) {
			t.Errorf("runbooks: got %q of dashboard %q want one of %q", title, m[1], titles[m[1]])
		}
	}
}

// TestRunbooksHaveAnAnchorPerAlert: dashboards link by the alert's name as it is, alerts by the heading.
func TestRunbooksHaveAnAnchorPerAlert(t *testing.T) {
	text := string(readFile(t, "runbooks.md"))
	alerts := regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(string(readFile(t, "rules/alerts.yml")), -1)
	if len(alerts) < 14 {
		t.Errorf("alerts: got %d want fourteen at least", len(alerts))
	}
	for _, m := range alerts {
		if !strings.Contains(text, "<a id=\""+m[1]+"\"></a>\n\n## "+m[1]+"\n") {
			t.Errorf("%s: got no heading with an anchor", m[1])
		}
	}
}
