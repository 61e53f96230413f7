package monitoring

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/retry"
)

// A vocabulary has the names of all metrics and their labels.
type vocabulary struct {
	labels map[string]set
	forms  map[string]set // every combination of labels that a series of the metric has; none for what rules make
	words  map[string]set // the values of labels that are of a closed set
}

// libraryVocabulary returns the metrics of an instance that has used every feature, the series that the
// rules record, and the series that every Prometheus has.
func libraryVocabulary(t testing.TB) *vocabulary {
	t.Helper()
	i := newInstance(t)
	for range 10 {
		i.doEverything(t, t.Context())
	}
	v := &vocabulary{labels: map[string]set{"up": {}}, forms: map[string]set{}, words: closedWords()}
	v.learn(t, i.registry)
	v.add("spillway_objective", []string{"objective", "service"}) // of a rules file
	for _, of := range v.labels {                                 // a scrape adds these, the last three where there are some
		of["job"], of["instance"], of["cluster"], of["namespace"], of["team"] = true, true, true, true, true
	}
	for name, labels := range recorded() {
		v.labels[name] = setOf(strings.Fields(labels)...)
	}
	v.labels["ALERTS"] = setOf("alertname", "alertstate")
	_, alerts := readRules(t)
	v.words["alertname"] = set{}
	for _, a := range alerts {
		v.words["alertname"][a.Alert] = true
		maps.Copy(v.labels["ALERTS"], v.labelsOf(a))
	}
	v.labels["ALERTS_FOR_STATE"] = maps.Clone(v.labels["ALERTS"])
	delete(v.labels["ALERTS_FOR_STATE"], "alertstate")
	return v
}

func (v *vocabulary) learn(t testing.TB, from prometheus.Gatherer) {
	t.Helper()
	families := throttle.Must(from.Gather())
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var names []string
			for _, pair := range m.GetLabel() {
				names = append(names, pair.GetName())
			}
			v.learnSeries(f, names)
		}
	}
}

// learnSeries adds one metric of a family, under all names that its kind has.
func (v *vocabulary) learnSeries(f *dto.MetricFamily, names []string) {
	switch f.GetType() {
	case dto.MetricType_HISTOGRAM:
		v.add(f.GetName(), names) // if it is a native one
		v.add(f.GetName()+"_bucket", append(slices.Clone(names), "le"))
		v.add(f.GetName()+"_sum", names)
		v.add(f.GetName()+"_count", names)
	case dto.MetricType_SUMMARY:
		v.add(f.GetName(), append(slices.Clone(names), "quantile"))
		v.add(f.GetName()+"_sum", names)
		v.add(f.GetName()+"_count", names)
	default:
		v.add(f.GetName(), names)
	}
}

func (v *vocabulary) add(metric string, names []string) {
	if v.labels[metric] == nil {
		v.labels[metric], v.forms[metric] = set{}, set{}
	}
	for _, n := range names {
		v.labels[metric][n] = true
	}
	v.forms[metric][form(names)] = true
}

// form names a combination of labels. Those that say who made or scraped a series do not matter: they are everywhere.
func form(names []string) string {
	own := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return n == "cluster" || n == "namespace" || n == "team" || n == "job" || n == "instance" || strings.HasPrefix(n, "otel_scope_")
	})
	slices.Sort(own)
	return strings.Join(own, " ")
}

// labelsOf returns the labels that an alert may have when it fires: those of its series, and its own.
func (v *vocabulary) labelsOf(alert rule) set {
	has := setOf(slices.Collect(maps.Keys(alert.Labels))...)
	if expr, err := parse(alert.Expr); err == nil { // or the check of the alert reports it
		maps.Copy(has, v.labelsBelow(expr))
	}
	return has
}

// labelsBelow returns the labels of the series in an expression, and those that its functions make.
func (v *vocabulary) labelsBelow(node parser.Node) set {
	has := set{}
	parser.Inspect(node, func(node parser.Node, _ []parser.Node) error {
		switch e := node.(type) {
		case *parser.VectorSelector:
			maps.Copy(has, v.labelsSelected(e))
		case *parser.AggregateExpr:
			if name, ok := e.Param.(*parser.StringLiteral); ok { // of count_values
				has[name.Val] = true
			}
		case *parser.Call:
			if e.Func.Name == "label_replace" || e.Func.Name == "label_join" {
				has[e.Args[1].(*parser.StringLiteral).Val] = true
			}
		}
		return nil
	})
	return has
}

// check returns the problems of an expression: metrics, labels and label values that do not exist, and labels for groups and joins that
// no series below has.
func (v *vocabulary) check(text string) (wrong []string) {
	expr, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var wanted []string
		switch e := node.(type) {
		case *parser.VectorSelector:
			wrong = append(wrong, v.checkSelector(e)...)
		case *parser.AggregateExpr:
			wanted = e.Grouping
		case *parser.BinaryExpr:
			if e.VectorMatching != nil {
				wanted = e.VectorMatching.MatchingLabels
			}
		}
		for _, name := range wanted {
			if !v.labelsBelow(node)[name] {
				wrong = append(wrong, fmt.Sprintf("no label %s in %s", name, node))
			}
		}
		return nil
	})
	return wrong
}

func (v *vocabulary) checkSelector(s *parser.VectorSelector) []string {
	has := v.labelsSelected(s)
	if has == nil {
		return []string{fmt.Sprintf("not exposed: %q", s.Name)}
	}
	var wrong []string
	for _, m := range s.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			for _, name := range m.SetMatches() { // which all are to be there
				if v.labels[name] == nil {
					wrong = append(wrong, fmt.Sprintf("not exposed: %q", name))
				}
			}
			continue
		}
		if !has[m.Name] {
			wrong = append(wrong, fmt.Sprintf("%s has no label %s", s.Name, m.Name))
		}
		wrong = append(wrong, v.checkValues(m)...)
	}
	return wrong
}

// labelsSelected returns the labels of the metrics that are selected, by name or by what the name is like, and nil if there is none.
func (v *vocabulary) labelsSelected(s *parser.VectorSelector) set {
	var has set
	for _, m := range s.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		for metric, of := range v.labels {
			if m.Matches(metric) {
				if has == nil {
					has = set{}
				}
				maps.Copy(has, of)
			}
		}
	}
	return has
}

type set map[string]bool

func setOf(words ...string) set {
	s := set{}
	for _, w := range words {
		s[w] = true
	}
	return s
}

// closedWords returns the labels whose values the library chooses, and these values, as it says them.
func closedWords() map[string]set {
	words := map[string]set{
		"throttle_decision": setOf(semconv.DecisionAdmitted, semconv.DecisionShed, semconv.DecisionShadowShed),
		"throttle_priority": {}, "throttle_outcome": {}, "throttle_cause": {}, "error_type": {},
		"throttle_breaker_state": {}, "throttle_breaker_failure": {},
		"throttle_bucket_result": setOf(semconv.ResultGranted, semconv.ResultDenied, semconv.ResultFailedOpen, semconv.ResultFailedClosed,
			semconv.ResultShareGranted, semconv.ResultShareDenied),
		"throttle_backoff_direction": setOf(semconv.DirectionUp, semconv.DirectionDown),
		"throttle_backoff_outcome":   setOf(backoff.Success.String(), backoff.Throttled.String(), backoff.Ignored.String()),
		"throttle_retry_result":      setOf(semconv.RetrySent, semconv.RetryDenied),
		"throttle_retry_kind":        setOf(semconv.RetryAgain, semconv.RetryHedge),
		"throttle_retry_attempts":    setOf("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"),
		"throttle_retry_reason":      {},
		"throttle_slow_event":        setOf(semconv.SlowLate, semconv.SlowBooked, semconv.SlowWrittenOff, semconv.SlowWouldRefuse),
		"throttle_slow_source":       setOf(semconv.SlowConfigured, semconv.SlowLearned),
		"alertstate":                 setOf("firing", "pending"),
		"severity":                   setOf("critical", "warning", "info"),
	}
	for p := range throttle.Priority(throttle.StandardPriorities) {
		words["throttle_priority"][p.String()] = true
	}
	for o := range throttle.Outcomes() {
		words["throttle_outcome"][o.String()] = true
	}
	for r := range (retry.Denials{}).All() {
		words["throttle_retry_reason"][r.String()] = true
	}
	for c := range throttle.Causes() {
		words["throttle_cause"][c.String()] = true
	}
	for f := range throttle.Faults() {
		words["error_type"][f.String()] = true
	}
	for s := range breaker.Disabled + 1 {
		words["throttle_breaker_state"][s.String()] = true
	}
	for f := range (breaker.ErrorCounts{}).All() {
		words["throttle_breaker_failure"][f.String()] = true
	}
	delete(words["error_type"], throttle.FaultNone.String())
	delete(words["error_type"], throttle.FaultOther.String()) // which is written as the conventions want it
	words["error_type"]["_OTHER"] = true
	return words
}

// checkValues returns the values in a matcher that the label never has. A missing label has the value "".
func (v *vocabulary) checkValues(m *labels.Matcher) []string {
	known, closed := v.words[m.Name]
	if !closed {
		return nil
	}
	wanted := []string{m.Value}
	if m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp {
		wanted = m.SetMatches()
	}
	var wrong []string
	for _, word := range wanted {
		if word != "" && !known[word] {
			wrong = append(wrong, fmt.Sprintf("%s: %s is never %q", m, m.Name, word))
		}
	}
	if len(wanted) == 0 && !matchesAny(m, known) {
		wrong = append(wrong, fmt.Sprintf("%s: no word of %s is like that", m, m.Name))
	}
	return wrong
}

// matchesAny reports whether the pattern of a matcher, wanted or not, is that of some word.
func matchesAny(m *labels.Matcher, known set) bool {
	for word := range known {
		if m.Matches(word) == (m.Type == labels.MatchRegexp) {
			return true
		}
	}
	return false
}

// TestVocabulary plants what the vocabulary must find, beside what it must not complain of.
func TestVocabulary(t *testing.T) {
	v := libraryVocabulary(t)
	for expr, want := range map[string]string{
		`rate(throttle_cals_total[5m])`:                                     `not exposed: "throttle_cals_total"`,
		`throttle_call_active{throttle_decision="shed"}`:                    "throttle_call_active has no label throttle_decision",
		`throttle_calls_total{throttle_decision=~"shed|admited"}`:           `throttle_decision is never "admited"`,
		`sum by (job, throttle) (throttle_calls_total)`:                     "no label throttle in sum",
		`throttle_call_active / on (pod) throttle_window_requests`:          "no label pod in throttle_call_active",
		`sum by (throttle_cause) (throttle:shed_ratio:rate5m)`:              "no label throttle_cause in sum",
		`ALERTS{alertstate="resolved"}`:                                     `alertstate is never "resolved"`,
		`ALERTS{alertname!="ThrottleBackendDwn"}`:                           `alertname is never "ThrottleBackendDwn"`,
		`ALERTS{alertname=~"Throtle.+"}`:                                    "no word of alertname is like that",
		`count(ALERTS{alertname=~"Throttle.*"}) or vector(0)`:               "",
		`up{job=~".+"} == 0 unless on (job, instance) throttle_calls_total`: "",
		`throttle_call_active * ignoring (pod) throttle_window_requests`:    "no label pod in throttle_call_active",
		`ALERTS * ignoring (alertstate) group_right () ALERTS_FOR_STATE`:    "",
	} {
		if got := strings.Join(v.check(expr), "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q want %q", expr, got, want)
		}
	}
}
