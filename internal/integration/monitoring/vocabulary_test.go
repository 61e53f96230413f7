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
	"github.com/prometheus/prometheus/promql/parser"
)

// A vocabulary is every metric that can be asked for, and its labels.
type vocabulary struct {
	labels map[string]set
	forms  map[string]set // every combination of labels that a series of the metric has; none for what rules make
	wrong  []string       // what is wrong with the rules that would add to it
}

// speak returns the vocabulary of an instance that has done everything, with the names that the rules add, and what is in every
// Prometheus.
func speak(t testing.TB) *vocabulary {
	t.Helper()
	i := newInstance(t)
	for range 10 {
		i.doEverything(t, t.Context())
	}
	v := &vocabulary{labels: map[string]set{"up": {}}, forms: map[string]set{}}
	v.learn(t, i.registry)
	for _, of := range v.labels { // a scrape adds these
		of["job"], of["instance"] = true, true
	}
	recording, alerts := readRules(t)
	v.learnRules(recording)
	v.learnAlerts(alerts)
	return v
}

// learn adds the metrics that a registry exposes.
func (v *vocabulary) learn(t testing.TB, from prometheus.Gatherer) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
		return n == "job" || n == "instance" || strings.HasPrefix(n, "otel_scope_")
	})
	slices.Sort(own)
	return strings.Join(own, " ")
}

// learnRules adds what recording rules make. Each may use those before it.
func (v *vocabulary) learnRules(rules []rule) {
	for _, r := range rules {
		expr, err := parse(r.Expr)
		if err != nil {
			v.wrong = append(v.wrong, fmt.Sprintf("%s: %v", r.Record, err))
			continue
		}
		has, wrong := v.infer(expr)
		for _, w := range wrong {
			v.wrong = append(v.wrong, r.Record+": "+w)
		}
		maps.Copy(has, setOf(slices.Collect(maps.Keys(r.Labels))...))
		v.labels[r.Record] = has
	}
}

// learnAlerts adds ALERTS, which has the labels of all alerts.
func (v *vocabulary) learnAlerts(rules []rule) {
	all := setOf("alertname", "alertstate")
	for _, r := range rules {
		maps.Copy(all, v.labelsOf(r))
	}
	v.labels["ALERTS"] = all
}

// labelsOf returns the labels that an alert may have when it fires.
func (v *vocabulary) labelsOf(alert rule) set {
	has := setOf("alertname")
	if expr, err := parse(alert.Expr); err == nil {
		inferred, _ := v.infer(expr) // what is wrong with it is told where the alert is checked
		maps.Copy(has, inferred)
	}
	maps.Copy(has, setOf(slices.Collect(maps.Keys(alert.Labels))...))
	return has
}

// check returns what is wrong with an expression: metrics and labels that do not exist, and words that nobody says.
func (v *vocabulary) check(text string) []string {
	expr, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	_, wrong := v.infer(expr)
	return wrong
}

// checkSelector returns what is wrong with where series are selected.
func (v *vocabulary) checkSelector(s *parser.VectorSelector) []string {
	has := v.labelsSelected(s)
	if has == nil {
		return []string{fmt.Sprintf("nobody exposes %q", s.Name)}
	}
	var wrong []string
	for _, m := range s.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			for _, name := range m.SetMatches() { // which all are to be there
				if v.labels[name] == nil {
					wrong = append(wrong, fmt.Sprintf("nobody exposes %q", name))
				}
			}
			continue
		}
		if !has[m.Name] {
			wrong = append(wrong, fmt.Sprintf("%s has no label %s", s.Name, m.Name))
		}
		wrong = append(wrong, checkWords(m)...)
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
