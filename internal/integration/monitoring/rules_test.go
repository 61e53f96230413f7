package monitoring

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Record, Alert, Expr string
	For                 string
	KeepFiringFor       string `yaml:"keep_firing_for"`
	Labels, Annotations map[string]string
}

func (f ruleFile) rules() []rule {
	var all []rule
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func readRules(t testing.TB) (recording, alerts []rule) {
	t.Helper()
	var files [2]ruleFile
	readYAML(t, "dashboards/rules/recording.yml", &files[0])
	readYAML(t, "dashboards/rules/alerts.yml", &files[1])
	recording, alerts = files[0].rules(), files[1].rules()
	for _, r := range recording {
		if r.Record == "" {
			t.Errorf("recording.yml: got alert %s want only recording rules", r.Alert)
		}
	}
	for _, r := range alerts {
		if r.Alert == "" {
			t.Errorf("alerts.yml: got recording rule %s want only alerts", r.Record)
		}
	}
	if len(recording) == 0 || len(alerts) == 0 {
		t.Fatalf("got %d recording rules and %d alerts want some of both", len(recording), len(alerts))
	}
	return recording, alerts
}

// A ruleTest is a file of cases for promtool.
type ruleTest struct {
	Tests []ruleCase
}

// A ruleCase is series, and what the rules have to make of them.
type ruleCase struct {
	InputSeries []struct{ Series string } `yaml:"input_series"`
	Alerts      []alertCase               `yaml:"alert_rule_test"`
	Exprs       []exprCase                `yaml:"promql_expr_test"`
}

// An alertCase is which alerts of a name have to fire at a moment.
type alertCase struct {
	EvalTime  string `yaml:"eval_time"`
	Alertname string
	Expected  []expectation `yaml:"exp_alerts"`
}

type expectation struct {
	Labels map[string]string `yaml:"exp_labels"`
}

// An exprCase is what an expression has to be at a moment.
type exprCase struct {
	Expr     string
	EvalTime string                    `yaml:"eval_time"`
	Samples  []struct{ Labels string } `yaml:"exp_samples"`
}

func readRuleTests(t testing.TB) map[string]ruleTest {
	t.Helper()
	files, err := filepath.Glob(program.File(t, "dashboards/rules/*_test.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("dashboards/rules: got %d tests and error %v want some", len(files), err)
	}
	tests := map[string]ruleTest{}
	for _, file := range files {
		var test ruleTest
		readYAML(t, "dashboards/rules/"+filepath.Base(file), &test)
		tests[filepath.Base(file)] = test
	}
	return tests
}

func readYAML(t testing.TB, name string, into any) {
	t.Helper()
	text := throttle.Must(os.ReadFile(program.File(t, name)))
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// run runs one of the tools in a folder of the repository, and returns what it says if it has a complaint.
func run(t *testing.T, folder, tool string, flags ...string) {
	t.Helper()
	cmd := exec.Command(tool, flags...)
	cmd.Dir = program.File(t, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(tool), strings.Join(flags, " "), err, out)
	}
}

// TestRules checks the rules against the vocabulary, with every label that the texts of alerts name, and with promtool.
func TestRules(t *testing.T) {
	v := libraryVocabulary(t)
	recording, alerts := readRules(t)
	for _, r := range recording {
		for _, wrong := range v.check(r.Expr) {
			t.Errorf("recording.yml: %s: %s", r.Record, wrong)
		}
	}
	for _, a := range alerts {
		for _, wrong := range v.check(a.Expr) {
			t.Errorf("alerts.yml: %s: %s", a.Alert, wrong)
		}
		has := v.labelsOf(a)
		for name, text := range a.Annotations {
			for _, found := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
				if !has[found[1]] {
					t.Errorf("alerts.yml: %s: annotation %s: the alert has no label %s", a.Alert, name, found[1])
				}
			}
		}
	}
	if t.Failed() {
		t.FailNow() // whatever promtool has to say would be about something that does not exist
	}
	run(t, "dashboards/prometheus", promtool(t), "check", "config", "prometheus.yml")
	run(t, "dashboards/rules", promtool(t), "check", "rules", "--lint=all", "--lint-fatal", "recording.yml", "alerts.yml")
}

func promtool(t *testing.T) string { return program.Find(t, "prometheus", "promtool") }

// TestRuleCases makes sure that the cases for promtool are about series as they are exposed. Package rules runs them.
func TestRuleCases(t *testing.T) {
	v := libraryVocabulary(t)
	for file, test := range readRuleTests(t) {
		for _, one := range test.Tests {
			for _, input := range one.InputSeries {
				for _, wrong := range v.checkSeries(input.Series) {
					t.Errorf("%s: %s: %s", file, input.Series, wrong)
				}
			}
			for _, asked := range one.Exprs {
				for _, wrong := range v.check(asked.Expr) {
					t.Errorf("%s: %s", file, wrong)
				}
			}
		}
	}
}

// checkSeries returns the problems of a series in a test case. Of a seed, rules of the test make series of that metric.
func (v *vocabulary) checkSeries(series string) []string {
	of, err := newParser().ParseMetric(series)
	if err != nil {
		return []string{err.Error()}
	}
	metric := of.Get(model.MetricNameLabel)
	has, ok := v.labels[metric]
	if !ok && metric != "seed" {
		return []string{fmt.Sprintf("not exposed: %q", metric)}
	}
	var names, wrong []string
	of.Range(func(l labels.Label) {
		switch {
		case l.Name == model.MetricNameLabel:
			return
		case ok && !has[l.Name]:
			wrong = append(wrong, fmt.Sprintf("%s has no label %s", metric, l.Name))
		}
		names = append(names, l.Name)
		wrong = append(wrong, v.checkValues(labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))...)
	})
	if forms := v.forms[metric]; len(forms) > 0 && !forms[form(names)] {
		wrong = append(wrong, fmt.Sprintf("no series of %s has just the labels %s", metric, form(names)))
	}
	return wrong
}

// TestAlerts_Annotations checks the labels and annotations of every alert.
func TestAlerts_Annotations(t *testing.T) {
	uids := map[string]dashboard{}
	for _, d := range readDashboards(t) {
		uids[d.UID] = d
	}
	_, alerts := readRules(t)
	for _, a := range alerts {
		if !closedWords()["severity"][a.Labels["severity"]] || a.Labels["component"] != "throttle" {
			t.Errorf("%s: got labels %v want a severity, and the component throttle", a.Alert, a.Labels)
		}
		if a.Annotations["summary"] == "" || strings.Contains(a.Annotations["summary"], "{{") || a.Annotations["description"] == "" {
			t.Errorf("%s: got annotations %v want a summary that is always the same, and a description", a.Alert, a.Annotations)
		}
		want := "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md#" + strings.ToLower(a.Alert)
		if got := a.Annotations["runbook_url"]; got != want { // the tests of dashboards check the headings
			t.Errorf("%s: got runbook %s want %s", a.Alert, got, want)
		}
		for _, wrong := range checkLink(a.Annotations["dashboard_url"], uids) {
			t.Errorf("%s: %s", a.Alert, wrong)
		}
	}
}

func checkLink(link string, uids map[string]dashboard) []string {
	uid, query, _ := strings.Cut(strings.TrimPrefix(link, "/d/"), "?")
	d, ok := uids[uid]
	if !ok {
		return []string{fmt.Sprintf("got dashboard_url %q want /d/ and one of %v", link, slices.Sorted(maps.Keys(uids)))}
	}
	known := set{}
	for _, v := range d.Templating.List {
		known[v.Name] = true
	}
	var wrong []string
	for _, found := range regexp.MustCompile(`(?:^|&)var-(\w+)=`).FindAllStringSubmatch(query, -1) {
		if !known[found[1]] {
			wrong = append(wrong, fmt.Sprintf("dashboard %s has no variable %s", uid, found[1]))
		}
	}
	return wrong
}

// recorded is what the recording rules promise to users, who build dashboards and alerts of their own on it: names and labels.
func recorded() map[string]string {
	promised := map[string]string{"throttle:breaker_max_stale:seconds": ""}
	for own, names := range map[string]string{
		"": "instances:count error_budget:ratio latency_objective:seconds",
		"throttle_name": `rejected_ratio:rate1m late_ratio:rate5m canceled_ratio:rate2m canceled_ratio:rate5m calls_answered:rate5m
			rejection_probability:highest rejection_probability:lowest call_duration:p99_5m fallback_failure_ratio:rate5m
			sli_error:ratio_rate2m sli_error:ratio_rate5m sli_error:ratio_rate30m sli_error:ratio_rate1h sli_error:ratio_rate2h
			sli_error:ratio_rate6h sli_error:ratio_rate1d sli_error:ratio_rate3d`,
		"throttle_name throttle_priority": `calls_offered:rate5m calls_offered:rate2m calls_shed:rate5m calls_shed:rate2m
			shed_ratio:rate5m shed_ratio:rate1m processor_shed_ratio:rate5m processor_shed_ratio:rate1m`,
		"throttle_name error_type": "fault_ratio:rate1m fault_ratio:rate2m fault_ratio:rate5m calls_rejected:rate5m",
		"throttle_breaker_name":    "breaker_calls_offered:rate5m breaker_calls_shed:rate5m breaker_shed_ratio:rate5m",
		"throttle_bucket_name": `bucket_failed_open_ratio:rate5m bucket_failed_closed_ratio:rate5m bucket_local_share_ratio:rate5m
			bucket_denied_ratio:rate5m bucket_denied_ratio:rate1h`,
		"throttle_bucket_name throttle_bucket_result": "bucket_requests:rate5m",
		"throttle_backoff_name":                       "backoff_throttled_ratio:rate10m",
	} {
		for _, name := range strings.Fields(names) {
			promised["throttle:"+name] = strings.TrimSpace("cluster namespace team job " + own)
		}
	}
	return promised
}

// TestRecordingRules compares the names. That the series have the labels, TestEndToEnd checks.
func TestRecordingRules(t *testing.T) {
	recording, _ := readRules(t)
	names := set{}
	for _, r := range recording {
		names[r.Record] = true
	}
	got, want := slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(recorded()))
	if !slices.Equal(got, want) {
		t.Errorf("recording rules: got %v\nwant %v", got, want)
	}
}
