package monitoring

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// TestAlerts_HaveCases expects that promtool sees each alert, at each of its severities and windows, fire in some case, and
// that no case is about an alert that is not there.
func TestAlerts_HaveCases(t *testing.T) {
	_, alerts := readRules(t)
	awaitFiring := map[string][]map[string]string{}
	for file, test := range readRuleTests(t) {
		for _, one := range test.Tests {
			for _, asked := range one.Alerts {
				if !slices.ContainsFunc(alerts, func(a rule) bool { return a.Alert == asked.Alertname }) {
					t.Errorf("%s: got a case of %s, which is no alert", file, asked.Alertname)
				}
				for _, e := range asked.Expected {
					awaitFiring[asked.Alertname] = append(awaitFiring[asked.Alertname], e.Labels)
				}
			}
			for _, asked := range one.Exprs {
				for _, a := range alerts {
					severity := fmt.Sprintf("severity=%q", a.Labels["severity"])
					about := strings.Contains(asked.Expr, "ALERTS") && strings.Contains(asked.Expr, a.Alert) && strings.Contains(asked.Expr, severity)
					if about && len(asked.Samples) > 0 {
						awaitFiring[a.Alert] = append(awaitFiring[a.Alert], a.Labels)
					}
				}
			}
		}
	}
	for _, a := range alerts {
		fixed := maps.Clone(a.Labels)
		maps.DeleteFunc(fixed, func(_, value string) bool { return strings.Contains(value, "{{") })
		if !slices.ContainsFunc(awaitFiring[a.Alert], func(labels map[string]string) bool { return contains(labels, fixed) }) {
			t.Errorf("%s %v: got no case in which it fires", a.Alert, a.Labels)
		}
	}
}

// TestRunbooks_Queries checks each query against the vocabulary, and that each section is about an alert and has one.
func TestRunbooks_Queries(t *testing.T) {
	v := libraryVocabulary(t)
	_, alerts := readRules(t)
	text := throttle.Must(os.ReadFile(program.File(t, "dashboards/runbooks.md")))
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
