package spillway_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAlertsOfOperatingPage checks that the table of docs/watching.md lists each alert in the row of its severity.
func TestAlertsOfOperatingPage(t *testing.T) {
	want, alert := map[string]map[string]bool{}, ""
	for line := range strings.Lines(readFile(t, "dashboards/rules/alerts.yml")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			alert = name
		}
		if severity, ok := strings.CutPrefix(strings.TrimSpace(line), "severity: "); ok {
			if want[severity] == nil {
				want[severity] = map[string]bool{}
			}
			want[severity][alert] = true
		}
	}
	page := readFile(t, "docs/watching.md")
	for severity, alerts := range want {
		_, row, _ := strings.Cut(page, "\n| `"+severity+"` |")
		row, _, _ = strings.Cut(row, "\n")
		got := map[string]bool{}
		for _, link := range regexp.MustCompile(`\[(Throttle\w+)\]`).FindAllStringSubmatch(row, -1) {
			got[link[1]] = true
		}
		if !maps.Equal(got, alerts) {
			t.Errorf("docs/watching.md, %s: got %v\nwant %v", severity, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(alerts)))
		}
	}
	if len(want) != 3 {
		t.Errorf("severities: got %d want 3: does this test still read the rules?", len(want))
	}
}

// TestNumberOfAlerts checks the pages that say how many alerts there are.
func TestNumberOfAlerts(t *testing.T) {
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(readFile(t, "dashboards/rules/alerts.yml"), -1) {
		names[m[1]] = true
	}
	for page, want := range map[string]string{"README.md": "%d alerts", "CHANGELOG.md": "%d alerts", "docs/numbers-and-peers.md": "| 5 / %d / %[1]d |"} {
		if want := fmt.Sprintf(want, len(names)); !strings.Contains(readFile(t, page), want) {
			t.Errorf("%s: want %q", page, want)
		}
	}
}
