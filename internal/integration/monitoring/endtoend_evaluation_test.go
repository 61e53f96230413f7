package monitoring

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// shows asks all that the dashboards ask when somebody opens them, and again with every other option of the variables that have some.
func (s *stack) shows(t *testing.T) {
	questions, of := asked(t)
	var hopes []hope
	for _, q := range questions {
		hopes = append(hopes, s.answers(t, q, inGrafana(byDefault(q.board(of))))...)
		for _, v := range q.board(of).Templating.List {
			if v.Type != "custom" {
				continue
			}
			for _, o := range v.Options {
				other := byDefault(q.board(of))
				other[v.Name] = choice{values: []string{o.Value}, several: v.Multi || v.IncludeAll}
				hopes = append(hopes, s.answers(t, q, inGrafana(other))...)
			}
		}
	}
	fulfilled(t, "everything that is asked is answered", hopes...)
}

// showsHostile asks the same after somebody has chosen one value of each variable, names among them that would break an expression if
// they were put into it carelessly. Both ways in which Grafana puts them in must work.
func (s *stack) showsHostile(t *testing.T) {
	questions, of := asked(t)
	var hopes []hope
	for _, q := range questions {
		chosen := byDefault(q.board(of))
		for name, value := range map[string]string{
			"job": hostileJob, "instance": hostileInstance, "throttle": hostileName, "breaker": hostileName, "bucket": hostileName,
			"backoff":  hostileName,
			"priority": "high",
		} {
			if _, ok := chosen[name]; ok {
				chosen[name] = choice{values: []string{value}, several: true}
			}
		}
		for _, modern := range []bool{false, true} {
			i := inGrafana(chosen)
			i.modern = modern
			hopes = append(hopes, s.answers(t, q, i)...)
		}
	}
	fulfilled(t, "everything that is asked is answered", hopes...)
}

// ready returns the expression as Prometheus is to be asked, if it can be.
func ready(t *testing.T, q question, i interpolation) (expr string, ok bool) {
	t.Helper()
	text, err := i.apply(q.text)
	if err == nil {
		_, err = parse(text)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", q.where, text, err)
		return "", false
	}
	return fasterExpr(t, text), true
}

// answers is the hope for an answer with a number in it, or with the values of a variable.
func (s *stack) answers(t *testing.T, q question, i interpolation) []hope {
	t.Helper()
	expr, ok := ready(t, q, i)
	if !ok {
		return nil
	}
	return []hope{{q.where + ": " + expr, func() string {
		if q.kind == ofVariable {
			values, err := s.prometheus.values(q.label, expr)
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

func (s *stack) leadsToTraces(t *testing.T) {
	questions, of := asked(t)
	hopes := []hope{s.traces("the storefront", `throttle_call_duration_seconds_bucket{job="storefront"}`)}
	for _, q := range questions {
		if expr, ok := ready(t, q, inGrafana(byDefault(q.board(of)))); ok && q.exemplars {
			hopes = append(hopes, s.traces(q.where, expr))
		}
	}
	if len(hopes) == 1 {
		t.Error("no panel asks for exemplars")
	}
	fulfilled(t, "exemplars lead to traces", hopes...)
}

func (s *stack) traces(where, expr string) hope {
	return hope{where + ": " + expr, func() string {
		if ok, err := s.prometheus.traced(expr); err != nil || !ok {
			return fmt.Sprintf("no exemplar with a trace_id, error %v", err)
		}
		return ""
	}}
}

// works makes sure that every recording rule makes something, and that every alert has something to look at, whether it fires or not: an
// alert about series that nobody exposes would be silent for ever.
func (s *stack) works(t *testing.T) {
	recording, alerts := readRules(t)
	var hopes []hope
	for _, r := range recording {
		hopes = append(hopes, s.finds(r.Record, r.Record))
	}
	for _, a := range alerts {
		for _, selected := range selectors(mustParse(t, a.Expr)) {
			hopes = append(hopes, s.finds(a.Alert, plain(selected)))
		}
	}
	fulfilled(t, "every rule finds something", hopes...)
}

// finds is the hope that an expression has some number.
func (s *stack) finds(who, expr string) hope {
	return hope{who + ": " + expr, func() string { return missing(s.prometheus.instant(expr)) }}
}

// plain returns what is selected, at the present time.
func plain(s *parser.VectorSelector) string {
	return (&parser.VectorSelector{Name: s.Name, LabelMatchers: s.LabelMatchers}).String()
}
