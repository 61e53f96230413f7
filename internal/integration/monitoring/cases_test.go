package monitoring

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A verdict is what the cases for promtool know about an alert.
type verdict struct{ fires, silent, resolves bool }

// TestEveryAlertHasItsCases wants each alert, at each of its severities and windows, seen to fire, to be silent and to resolve.
func TestEveryAlertHasItsCases(t *testing.T) {
	_, alerts := readRules(t)
	tests := readRuleTests(t)
	known := set{}
	for _, a := range alerts {
		known[a.Alert] = true
		var got verdict
		for _, test := range tests {
			for _, one := range test.Tests {
				got.add(a.moments(t, one))
			}
		}
		if want := (verdict{true, true, true}); got != want {
			t.Errorf("%s %v: got cases %+v want %+v", a.Alert, a.Labels, got, want)
		}
	}
	for file, test := range tests {
		for _, one := range test.Tests {
			for _, asked := range one.Alerts {
				if !known[asked.Alertname] {
					t.Errorf("%s: got a case of %s, which is no alert", file, asked.Alertname)
				}
			}
		}
	}
}

// moments returns when a case looks for the alert, and whether it is to fire then.
func (r rule) moments(t *testing.T, of ruleCase) map[time.Duration]bool {
	t.Helper()
	moments := map[time.Duration]bool{}
	for _, asked := range of.Alerts {
		if asked.Alertname != r.Alert {
			continue
		}
		at := mustDuration(t, asked.EvalTime)
		fires := slices.ContainsFunc(asked.Expected, func(e expectation) bool { return contains(e.Labels, r.Labels) })
		moments[at] = moments[at] || fires
	}
	for _, asked := range of.Exprs {
		if fires, about := r.among(t, asked); about {
			at := mustDuration(t, asked.EvalTime)
			moments[at] = moments[at] || fires
		}
	}
	return moments
}

// among reports whether an expression asks for the alert, in ALERTS, and whether it is to find it firing.
func (r rule) among(t *testing.T, asked exprCase) (fires, about bool) {
	t.Helper()
	selected := selectors(mustParse(t, asked.Expr))
	if len(selected) != 1 || selected[0].Name != "ALERTS" || !r.selectedBy(selected[0]) {
		return false, false
	}
	for _, sample := range asked.Samples {
		found := parseMetric(t, sample.Labels)
		fires = fires || !r.contradicts(found) && found["alertstate"] != "pending"
	}
	return fires, true
}

// selectedBy reports whether the alert is among those that are selected, while it fires.
func (r rule) selectedBy(s *parser.VectorSelector) bool {
	firing := map[string]string{"alertname": r.Alert, "alertstate": "firing"}
	maps.Copy(firing, r.Labels)
	return !slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
		value, fixed := firing[m.Name]
		return (fixed || m.Name == "window") && !m.Matches(value)
	})
}

// contradicts reports whether the labels of a result are those of another alert.
func (r rule) contradicts(found map[string]string) bool {
	own := map[string]string{"alertname": r.Alert}
	maps.Copy(own, r.Labels)
	for name, value := range own {
		if other, ok := found[name]; ok && other != value {
			return true
		}
	}
	return false
}

func parseMetric(t *testing.T, text string) map[string]string {
	t.Helper()
	if text == "" {
		return nil
	}
	of, err := newParser().ParseMetric(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return of.Map()
}

// add takes what one case says about an alert into account.
func (v *verdict) add(moments map[time.Duration]bool) {
	fired := false
	for _, at := range slices.Sorted(maps.Keys(moments)) {
		fires := moments[at]
		v.fires = v.fires || fires
		v.silent = v.silent || !fires && !fired
		v.resolves = v.resolves || !fires && fired
		fired = fired || fires
	}
}
