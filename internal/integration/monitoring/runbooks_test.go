package monitoring

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

func severityWords() map[string]string {
	return map[string]string{"critical": "page", "warning": "ticket", "info": "information"}
}

// TestRunbooks_Severities checks that the table on top and the line under each heading name the severities of the alert, and no other.
func TestRunbooks_Severities(t *testing.T) {
	text := readRunbooks(t)
	_, alerts := readRules(t)
	has := map[string]set{}
	for _, a := range alerts {
		if has[a.Alert] == nil {
			has[a.Alert] = set{}
		}
		has[a.Alert][severityWords()[a.Labels["severity"]]] = true
	}
	for name, words := range has {
		want := slices.Sorted(maps.Keys(words))
		if got := severitiesIn(firstAfter(text, "| ["+name+"](#"+strings.ToLower(name)+") |")); !slices.Equal(got, want) {
			t.Errorf("%s, table: got %v want %v", name, got, want)
		}
		if got := severitiesIn(firstAfter(text, "## "+name+"\n\n")); !slices.Equal(got, want) {
			t.Errorf("%s, heading: got %v want %v", name, got, want)
		}
	}
}

func readRunbooks(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(program.File(t, "dashboards/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// firstAfter returns the rest of the line after a text: the next cell of a table if it is in one.
func firstAfter(text, before string) string {
	_, rest, _ := strings.Cut(text, before)
	line, _, _ := strings.Cut(rest, "\n")
	cell, _, _ := strings.Cut(line, "|")
	return cell
}

func severitiesIn(text string) []string {
	found := regexp.MustCompile(`(?i)\b(page|ticket|information)\b`).FindAllString(strings.ToLower(text), -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// TestRunbooks_Queries checks each query against the vocabulary, and that each section is about an alert and has one.
func TestRunbooks_Queries(t *testing.T) {
	v := libraryVocabulary(t)
	_, alerts := readRules(t)
	sections := strings.Split(readRunbooks(t), "\n## Throttle")[1:]
	query := regexp.MustCompile("(?s)```promql\n(.*?)```")
	for _, section := range sections {
		name, _, _ := strings.Cut(section, "\n")
		found := query.FindAllStringSubmatch(section, -1)
		if len(found) == 0 || !slices.ContainsFunc(alerts, func(a rule) bool { return a.Alert == "Throttle"+name }) {
			t.Errorf("Throttle%s: got no query to paste, or no such alert", name)
		}
		for _, q := range found {
			for _, wrong := range v.check(q[1]) {
				t.Errorf("Throttle%s: %s", name, wrong)
			}
		}
	}
}
