package rules

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A caseFile is a file of cases for promtool.
type caseFile struct {
	RuleFiles []string `yaml:"rule_files"`
	Interval  string   `yaml:"evaluation_interval"`
	Order     []string `yaml:"group_eval_order"`
	Tests     []yaml.Node
}

// A ruleFile is a file of rules.
type ruleFile struct{ Groups []group }

type group struct {
	Name  string
	Rules []rule
}

// A rule records its expression or alerts on it.
type rule struct {
	Record string `yaml:",omitempty"`
	Alert  string `yaml:",omitempty"`
	Expr   string
	Rest   map[string]any `yaml:",inline"`
}

// A testCase is series, and what is asked of the rules.
type testCase struct {
	Series []struct{ Series string }    `yaml:"input_series"`
	Alerts []struct{ Alertname string } `yaml:"alert_rule_test"`
	Exprs  []struct{ Expr string }      `yaml:"promql_expr_test"`
}

// needed leaves those rules that matter to a case. They read its series, or what other rules make of them, or nothing at all.
// And the case asks for them, or for what other rules make of them.
func needed(t *testing.T, one yaml.Node, groups []group) []group {
	t.Helper()
	var c testCase
	if err := one.Decode(&c); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{"absent": true, "vector": true, "scalar": true}
	for _, s := range c.Series {
		there[names(s.Series)[0]] = true
	}
	groups = leave(groups, func(r rule) bool {
		reads := slices.ContainsFunc(names(r.Expr), func(name string) bool { return there[name] })
		if reads {
			there[r.Record] = true
		}
		return reads
	})
	asked, alerts := map[string]bool{}, c.alerts()
	for _, e := range c.Exprs {
		add(asked, names(e.Expr))
	}
	return leave(groups, func(r rule) bool {
		wanted := asked["__name__"] || asked[r.Record] || r.Alert != "" && alerts.MatchString(r.Alert)
		if wanted {
			add(asked, names(r.Expr))
		}
		return wanted
	})
}

// names returns the names of metrics in an expression, among others.
func names(expr string) []string {
	return regexp.MustCompile(`[a-zA-Z_:][\w:]*`).FindAllString(expr, -1)
}

func add(to map[string]bool, names []string) {
	for _, name := range names {
		to[name] = true
	}
}

// alerts matches the names of the alerts that a case asks for. An expression with ALERTS asks for all, or for those of its
// alertname.
func (c testCase) alerts() *regexp.Regexp {
	var asked []string
	for _, a := range c.Alerts {
		asked = append(asked, a.Alertname)
	}
	for _, e := range c.Exprs {
		for _, selector := range regexp.MustCompile(`ALERTS\w*({[^}]*})?`).FindAllString(e.Expr, -1) {
			of := regexp.MustCompile(`\balertname=~?"([^"]*)"`).FindStringSubmatch(selector)
			if of == nil {
				of = []string{"", ".+"}
			}
			asked = append(asked, of[1])
		}
	}
	return regexp.MustCompile("^(" + strings.Join(asked, "|") + ")$")
}

// leave leaves the rules that match. It asks again while more of them do, because one may make another match.
func leave(groups []group, match func(rule) bool) []group {
	for before := -1; ; {
		left, n := slices.Clone(groups), 0
		for i, g := range groups {
			left[i].Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r rule) bool { return !match(r) })
			n += len(left[i].Rules)
		}
		if n == before {
			return left
		}
		before = n
	}
}
