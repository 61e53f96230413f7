package monitoring

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// panelsHostile evaluates every expression of the dashboards with one value chosen for each variable. Some values would break an
// expression without escaping. Both ways in which Grafana inserts a value must work.
func (s *stack) panelsHostile(t *testing.T) {
	questions, of := asked(t)
	var conditions []condition
	for _, q := range questions {
		if s.native && strings.Contains(q.where, ", annotation") {
			continue // waits for alerts of 15 minutes, and asks for no histogram
		}
		chosen := byDefault(q.board(of))
		for name, value := range map[string]string{
			"job": hostileJob, "throttle": hostileName, "breaker": hostileName, "bucket": hostileName,
			"backoff":  hostileName,
			"priority": "high", "cluster": fixtureCluster,
		} {
			if _, ok := chosen[name]; ok {
				chosen[name] = choice{values: []string{value}, several: true}
			}
		}
		chosen["instance"] = choice{values: []string{regexp.QuoteMeta(hostileInstance)}} // which is typed
		chosen["namespace"] = choice{values: []string{fixtureNamespace}}
		for _, modern := range []bool{false, true} {
			i := inGrafana(chosen)
			i.modern, i.scrape = modern, cmp.Or(s.scrape, i.scrape)
			conditions = append(conditions, s.hasAnswer(t, q, i)...)
		}
	}
	awaitAll(t, "everything that is asked is answered", conditions...)
}

// ready returns the expression for Prometheus, if it can be evaluated.
func (s *stack) ready(t *testing.T, q question, i interpolation) (expr string, ok bool) {
	t.Helper()
	text, err := i.apply(q.text)
	if err == nil {
		_, err = parse(text)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", q.where, text, err)
		return "", false
	}
	return s.by.expr(t, text), true
}

// hasAnswer returns the conditions that a query returns a number, or the values of a variable.
func (s *stack) hasAnswer(t *testing.T, q question, i interpolation) []condition {
	t.Helper()
	expr, ok := s.ready(t, q, i)
	if !ok {
		return nil
	}
	return []condition{{q.where + ": " + expr, func() string {
		if q.kind == ofVariable {
			values, _, err := s.prometheus.LabelValues(t.Context(), q.label, []string{expr}, time.Time{}, time.Time{})
			if err != nil || len(values) == 0 {
				return fmt.Sprintf("no value of %s, error %v", q.label, err)
			}
			return ""
		}
		if lack := missing(s.prometheus.instant(expr)); lack != "" {
			return lack
		}
		return missing(s.prometheus.graph(expr))
	}}}
}

func (s *stack) exemplarsToTraces(t *testing.T) {
	questions, of := asked(t)
	conditions := []condition{s.traces("the storefront", `throttle_call_duration_seconds_bucket{job="storefront"}`)}
	for _, q := range questions {
		if expr, ok := s.ready(t, q, inGrafana(byDefault(q.board(of)))); ok && q.exemplars {
			conditions = append(conditions, s.traces(q.where, expr))
		}
	}
	if len(conditions) == 1 {
		t.Error("no panel asks for exemplars")
	}
	awaitAll(t, "exemplars lead to traces", conditions...)
}

func (s *stack) traces(where, expr string) condition {
	return condition{where + ": " + expr, func() string {
		if ok, err := s.prometheus.traced(expr); err != nil || !ok {
			return fmt.Sprintf("no exemplar with a trace_id, error %v", err)
		}
		return ""
	}}
}

// rulesHaveData checks that every recording rule records series. That those of alerts exist is in TestRules and TestRuleCases.
func (s *stack) rulesHaveData(t *testing.T) {
	recording, _ := readRules(t)
	var conditions []condition
	for _, r := range recording {
		conditions = append(conditions, condition{r.Record, func() string { return missing(s.prometheus.instant(r.Record)) }})
	}
	awaitAll(t, "every rule finds something", conditions...)
}
