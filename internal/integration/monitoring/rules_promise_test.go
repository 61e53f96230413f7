package monitoring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// pageWithin is how long after a sudden and total fault a page may take.
const pageWithin = 3 * time.Minute

// slowPages are the pages that promise no such time, with the reason.
func slowPages() map[string]string {
	return map[string]string{
		"ThrottleErrorBudgetBurn":          "its windows are hours",
		"ThrottleBreakerSheddingSevere":    "circuits open and close all the time",
		"ThrottleBucketStoreFailingOpen":   "a store fails over in less than that",
		"ThrottleBucketStoreFailingClosed": "a store restarts in less than that",
	}
}

// delay returns how long after a sudden and total fault an alert fires: its for, and until its slowest condition is met. At a steady
// load a share over a window passes a threshold after that part of the window. Guards on rates are met before.
func delay(t *testing.T, a rule) time.Duration {
	t.Helper()
	slowest := time.Duration(0)
	parser.Inspect(mustParse(t, a.Expr), func(node parser.Node, _ []parser.Node) error {
		e, ok := node.(*parser.BinaryExpr)
		if !ok || e.Op != parser.GTR {
			return nil
		}
		limit, ok := e.RHS.(*parser.NumberLiteral)
		if !ok || limit.Val <= 0 || limit.Val >= 1 || guards(e.LHS) {
			return nil
		}
		window, all := windowOf(t, e.LHS)
		if !all {
			window = time.Duration(limit.Val * float64(window))
		}
		slowest = max(slowest, window)
		return nil
	})
	if a.For == "" {
		return slowest
	}
	return slowest + mustDuration(t, a.For)
}

// guards reports whether an expression is a rate of calls and no share.
func guards(e parser.Expr) bool {
	s, ok := e.(*parser.VectorSelector)
	return ok && !strings.Contains(s.Name, "ratio")
}

// windowOf returns the longest window of an expression, by its ranges and by the names of recording rules, and whether the condition
// must hold all the time.
func windowOf(t *testing.T, e parser.Expr) (longest time.Duration, all bool) {
	t.Helper()
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.MatrixSelector:
			longest = max(longest, n.Range)
		case *parser.VectorSelector:
			if found := regexp.MustCompile(`rate(\d+[smhd])$`).FindStringSubmatch(n.Name); found != nil {
				longest = max(longest, mustDuration(t, found[1]))
			}
		case *parser.Call:
			all = all || n.Func.Name == "min_over_time"
		}
		return nil
	})
	return longest, all
}

// lateness returns what is wrong with the times of an alert.
func lateness(t *testing.T, a rule) string {
	t.Helper()
	_, slow := slowPages()[a.Alert]
	if got := delay(t, a); a.Labels["severity"] == "critical" && !slow && got > pageWithin {
		return fmt.Sprintf("%s: window and for take %v, want at most %v", a.Alert, got, pageWithin)
	}
	return ""
}

// TestAlerts_PageInTime adds up windows and for of every page.
func TestAlerts_PageInTime(t *testing.T) {
	_, alerts := readRules(t)
	for _, a := range alerts {
		if late := lateness(t, a); late != "" {
			t.Error(late)
		}
	}
	for name := range slowPages() {
		if !slices.ContainsFunc(alerts, func(a rule) bool { return a.Alert == name && a.Labels["severity"] == "critical" }) {
			t.Errorf("got no page %s, which is an exception", name)
		}
	}
}

// TestLateness plants pages that are too late.
func TestLateness(t *testing.T) {
	for _, tt := range []struct {
		expr, wait string
		want       bool
	}{
		{`throttle:fault_ratio:rate5m > 0.25 and on (job) throttle:calls_answered:rate5m > 0.1`, "2m", true},
		{`throttle:fault_ratio:rate1m > 0.25 and on (job) throttle:calls_answered:rate5m > 0.1`, "2m", false},
		{`sum(throttle:calls_shed:rate2m) / (sum(throttle:calls_offered:rate2m) > 1) > 0.5`, "3m", true},
		{`sum(throttle:calls_shed:rate2m) / (sum(throttle:calls_offered:rate2m) > 1) > 0.5`, "90s", false},
		{`min_over_time(throttle:rejection_probability:lowest[3m]) > 0.9`, "30s", true},
		{`sum(rate(throttle_calls_total[10m])) / sum(rate(throttle_calls_total[5m])) > 0.3`, "", false},
		{`sum(rate(throttle_calls_total[10m])) / sum(rate(throttle_calls_total[5m])) > 0.4`, "", true},
	} {
		a := rule{Alert: "ThrottleSheddingSevere", Expr: tt.expr, For: tt.wait, Labels: map[string]string{"severity": "critical"}}
		if got := lateness(t, a); (got != "") != tt.want {
			t.Errorf("%s, for %s: got %q want a complaint: %v", tt.expr, tt.wait, got, tt.want)
		}
	}
}
