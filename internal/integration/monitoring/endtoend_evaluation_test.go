package monitoring

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spillway-go/spillway/internal/integration/program"
)

// panelsHostile evaluates every expression of the dashboards with one value chosen for each variable. Some values would break an
// expression without escaping. Both ways in which Grafana inserts a value must work.
func (s *stack) panelsHostile(t *testing.T) {
	questions, of := asked(t)
	var conditions []condition
	for _, q := range questions {
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

// rulesHaveData checks that every recording rule records series, with the labels that are promised to users. That those of alerts
// exist is in TestRules and TestRuleCases.
func (s *stack) rulesHaveData(t *testing.T) {
	var conditions []condition
	for name, labels := range recorded() {
		conditions = append(conditions, condition{name, func() string {
			all, err := s.prometheus.instant(name)
			has := setOf(model.MetricNameLabel)
			for _, series := range all {
				for label := range series.Metric {
					has[string(label)] = true
				}
			}
			if wanted := setOf(append(strings.Fields(labels), model.MetricNameLabel)...); !maps.Equal(has, wanted) {
				return fmt.Sprintf("got labels %v want %v, error %v", has, wanted, err)
			}
			return missing(all, err)
		}})
	}
	awaitAll(t, "every rule finds something", conditions...)
}

// nativeHistograms waits for native histograms of each kind of an instance, and expects no series of buckets.
func (s *stack) nativeHistograms(t *testing.T) {
	for _, name := range []string{"throttle_call_duration_seconds", "throttle_bucket_store_duration_seconds", "throttle_backoff_sleep_duration_seconds"} {
		program.Eventually(t, name, func() string {
			return missing(s.prometheus.instant(fmt.Sprintf("histogram_count(%s{cluster=%q}) > 0", name, fixtureCluster)))
		})
	}
	if classic, err := s.prometheus.instant(fmt.Sprintf(`{__name__=~"throttle_.+_(bucket|count)", cluster=%q}`, fixtureCluster)); err != nil || len(classic) > 0 {
		t.Errorf("got error %v and %d series of classic histograms, want none", err, len(classic))
	}
	program.Eventually(t, "the p99 is recorded", func() string {
		return missing(s.prometheus.instant(fmt.Sprintf("throttle:call_duration:p99_5m{cluster=%q} > 0", fixtureCluster)))
	})
}
