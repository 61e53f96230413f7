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
	text, err := os.ReadFile(program.File(t, name))
	if err != nil {
		t.Fatal(err)
	}
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
	for _, wrong := range v.wrong {
		t.Errorf("recording.yml: %s", wrong)
	}
	_, alerts := readRules(t)
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
		wrong = append(wrong, checkValues(labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))...)
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
	v := libraryVocabulary(t)
	_, alerts := readRules(t)
	for _, a := range alerts {
		if !closedWords()["severity"][a.Labels["severity"]] || a.Labels["component"] != "throttle" {
			t.Errorf("%s: got labels %v want a severity, and the component throttle", a.Alert, a.Labels)
		}
		if a.Annotations["summary"] == "" || strings.Contains(a.Annotations["summary"], "{{") || a.Annotations["description"] == "" {
			t.Errorf("%s: got annotations %v want a summary that is always the same, and a description", a.Alert, a.Annotations)
		}
		for _, place := range []string{"cluster", "namespace", "team", "job"} {
			if !v.labelsOf(a)[place] {
				t.Errorf("%s: got an alert without the label %s, which its series may have", a.Alert, place)
			}
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

// checkLink returns what is wrong with a link to a dashboard.
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
	const job = "cluster job namespace team"
	const throttle, priority = job + " throttle_name", job + " throttle_name throttle_priority"
	const breaker, bucket = job + " throttle_breaker_name", job + " throttle_bucket_name"
	promised := map[string]string{
		"throttle:calls_offered:rate5m":          priority,
		"throttle:calls_shed:rate5m":             priority,
		"throttle:shed_ratio:rate5m":             priority,
		"throttle:calls_offered:rate2m":          priority,
		"throttle:calls_shed:rate2m":             priority,
		"throttle:shed_ratio:rate1m":             priority,
		"throttle:processor_shed_ratio:rate5m":   priority,
		"throttle:processor_shed_ratio:rate1m":   priority,
		"throttle:fault_ratio:rate2m":            "cluster error_type job namespace team throttle_name",
		"throttle:fault_ratio:rate1m":            "cluster error_type job namespace team throttle_name",
		"throttle:rejected_ratio:rate1m":         throttle,
		"throttle:late_ratio:rate5m":             throttle,
		"throttle:canceled_ratio:rate2m":         throttle,
		"throttle:calls_answered:rate5m":         throttle,
		"throttle:calls_rejected:rate5m":         "cluster error_type job namespace team throttle_name",
		"throttle:fault_ratio:rate5m":            "cluster error_type job namespace team throttle_name",
		"throttle:canceled_ratio:rate5m":         throttle,
		"throttle:rejection_probability:highest": throttle,
		"throttle:rejection_probability:lowest":  throttle,
		"throttle:call_duration:p99_5m":          throttle,
		"throttle:fallback_failure_ratio:rate5m": throttle,
		"throttle:instances:count":               job,
		"throttle:error_budget:ratio":            job,
		"throttle:latency_objective:seconds":     job,
		"throttle:breaker_calls_offered:rate5m":  breaker,
		"throttle:breaker_calls_shed:rate5m":     breaker,
		"throttle:breaker_shed_ratio:rate5m":     breaker,
		"throttle:breaker_max_stale:seconds":     "",

		"throttle:bucket_requests:rate5m":            bucket + " throttle_bucket_result",
		"throttle:bucket_failed_open_ratio:rate5m":   bucket,
		"throttle:bucket_failed_closed_ratio:rate5m": bucket,
		"throttle:bucket_local_share_ratio:rate5m":   bucket,
		"throttle:bucket_denied_ratio:rate5m":        bucket,
		"throttle:bucket_denied_ratio:rate1h":        bucket,

		"throttle:backoff_throttled_ratio:rate10m": job + " throttle_backoff_name",
	}
	for _, window := range []string{"2m", "5m", "30m", "1h", "2h", "6h", "1d", "3d"} {
		promised["throttle:sli_error:ratio_rate"+window] = throttle
	}
	return promised
}

func TestRecordingRules(t *testing.T) {
	v, promised := libraryVocabulary(t), recorded()
	recording, _ := readRules(t)
	for _, r := range recording {
		want, ok := promised[r.Record]
		if got := strings.Join(slices.Sorted(maps.Keys(v.labels[r.Record])), " "); !ok || got != want {
			t.Errorf("%s: got labels %q want %q, promised %v", r.Record, got, want, ok)
		}
		delete(promised, r.Record)
	}
	for name := range promised {
		t.Errorf("got no %s", name)
	}
}
