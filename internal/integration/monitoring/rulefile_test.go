package monitoring

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// A ruleFile is a file of rules for Prometheus.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// A rule records an expression or alerts on it.
type rule struct {
	Record, Alert, Expr string
	For                 string
	KeepFiringFor       string `yaml:"keep_firing_for"`
	Labels, Annotations map[string]string
}

// rules returns all rules of the file, in order.
func (f ruleFile) rules() []rule {
	var all []rule
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// readRules returns the rules of recording.yml and of alerts.yml.
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
	RuleFiles []string `yaml:"rule_files"`
	Tests     []ruleCase
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

// An expectation is an alert that has to fire.
type expectation struct {
	Labels map[string]string `yaml:"exp_labels"`
}

// An exprCase is what an expression has to be at a moment.
type exprCase struct {
	Expr     string
	EvalTime string                    `yaml:"eval_time"`
	Samples  []struct{ Labels string } `yaml:"exp_samples"`
}

// readRuleTests returns the cases for promtool by their file names.
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

// readYAML reads a file of the repository.
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
