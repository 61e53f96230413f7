package spillway_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alertsBySeverity returns the names of the alerts, by severity.
func alertsBySeverity(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found, alert := map[string]map[string]bool{"critical": {}, "warning": {}, "info": {}}, ""
	for line := range strings.Lines(readFile(t, "dashboards/rules/alerts.yml")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			alert = name
		}
		if severity, ok := strings.CutPrefix(strings.TrimSpace(line), "severity: "); ok {
			found[severity][alert] = true
		}
	}
	return found
}

// TestAlertsOfOperatingPage checks that the table of docs/watching.md lists each alert in the row of its severity.
func TestAlertsOfOperatingPage(t *testing.T) {
	page := readFile(t, "docs/watching.md")
	for severity, alerts := range alertsBySeverity(t) {
		_, row, _ := strings.Cut(page, "\n| `"+severity+"` |")
		row, _, _ = strings.Cut(row, "\n")
		got := map[string]bool{}
		for _, link := range regexp.MustCompile(`\[(Throttle\w+)\]`).FindAllStringSubmatch(row, -1) {
			got[link[1]] = true
		}
		if !maps.Equal(got, alerts) || len(got) == 0 {
			t.Errorf("docs/watching.md, %s: got %v\nwant %v", severity, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(alerts)))
		}
	}
}

// TestAlertsOfRunbooks checks that the table on top and the line under each heading name the severities of the alert, and no other.
func TestAlertsOfRunbooks(t *testing.T) {
	text, words := readFile(t, "dashboards/runbooks.md"), map[string]map[string]bool{}
	for severity, alerts := range alertsBySeverity(t) {
		for name := range alerts {
			if words[name] == nil {
				words[name] = map[string]bool{}
			}
			words[name][map[string]string{"critical": "page", "warning": "ticket", "info": "information"}[severity]] = true
		}
	}
	for name, want := range words {
		for _, before := range []string{"| [" + name + "](#" + strings.ToLower(name) + ") |", "## " + name + "\n\n"} {
			_, rest, _ := strings.Cut(text, before)
			line, _, _ := strings.Cut(rest, "\n")
			cell, _, _ := strings.Cut(line, "|")
			got := map[string]bool{}
			for _, word := range regexp.MustCompile(`\b(page|ticket|information)\b`).FindAllString(strings.ToLower(cell), -1) {
				got[word] = true
			}
			if !maps.Equal(got, want) {
				t.Errorf("dashboards/runbooks.md, after %q: got %v want %v", before, got, want)
			}
		}
	}
}

// TestNumberOfAlerts checks the pages that say how many alerts there are.
func TestNumberOfAlerts(t *testing.T) {
	names := map[string]bool{}
	for _, alerts := range alertsBySeverity(t) {
		maps.Copy(names, alerts)
	}
	for page, want := range map[string]string{"README.md": "%d alerts", "CHANGELOG.md": "%d alerts", "docs/numbers-and-peers.md": "| 5 / %d / %[1]d |"} {
		if want := fmt.Sprintf(want, len(names)); !strings.Contains(readFile(t, page), want) {
			t.Errorf("%s: want %q", page, want)
		}
	}
}
