package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// TestRunbooks_Queries checks each query against the vocabulary, and that each section is about an alert and has one.
func TestRunbooks_Queries(t *testing.T) {
	v := libraryVocabulary(t)
	_, alerts := readRules(t)
	text, err := os.ReadFile(program.File(t, "dashboards/runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## Throttle")[1:]
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
