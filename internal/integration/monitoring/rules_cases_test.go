package monitoring

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
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
