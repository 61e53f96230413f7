package monitoring

import (
	"slices"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// An alertmanagerFile has the parts of the configuration of Alertmanager that are checked here.
type alertmanagerFile struct {
	Route struct {
		GroupBy []string `yaml:"group_by"`
		Routes  []struct{ Matchers []string }
	}
	Inhibitions []struct {
		Sources []string `yaml:"source_matchers"`
		Targets []string `yaml:"target_matchers"`
		Equal   []string
	} `yaml:"inhibit_rules"`
}

// TestAlertmanager checks the configuration with amtool, and its labels with the vocabulary, because
// amtool accepts any label. That an alert of ours is delivered, TestEndToEnd checks.
func TestAlertmanager(t *testing.T) {
	var file alertmanagerFile
	readYAML(t, "dashboards/alertmanager/alertmanager.yml", &file)
	checkAlertmanagerNames(t, libraryVocabulary(t), file)
	tool := program.Find(t, "prometheus-alertmanager", "amtool")
	run(t, "dashboards/alertmanager", tool, "check-config", "alertmanager.yml")
	for label, receiver := range map[string]string{"component=throttle": "storefront", "alertname=DiskFull": "discard"} {
		run(t, "dashboards/alertmanager", tool, "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers="+receiver, "severity=critical", label)
	}
}

// checkAlertmanagerNames checks that routes and inhibitions use only labels of our alerts and names of
// existing alerts.
func checkAlertmanagerNames(t *testing.T, v *vocabulary, file alertmanagerFile) {
	t.Helper()
	names := append(slices.Clone(file.Route.GroupBy), "alertname")
	var written []string
	for _, r := range file.Route.Routes {
		written = append(written, r.Matchers...)
	}
	for _, i := range file.Inhibitions {
		names = append(names, i.Equal...)
		written = append(append(written, i.Sources...), i.Targets...)
	}
	for _, name := range names {
		if !v.labels["ALERTS"][name] {
			t.Errorf("alertmanager.yml: no alert has a label %s", name)
		}
	}
	_, alerts := readRules(t)
	for _, text := range written {
		for _, m := range matchersOf(t, text) {
			if !v.labels["ALERTS"][m.Name] {
				t.Errorf("alertmanager.yml: %s: no alert has a label %s", text, m.Name)
			}
			for _, wrong := range checkValues(m) {
				t.Errorf("alertmanager.yml: %s", wrong)
			}
			if m.Name == "alertname" && !matchesAlert(m, alerts) {
				t.Errorf("alertmanager.yml: %s: there is no such alert", text)
			}
		}
	}
}

// matchersOf parses a matcher of alertmanager.yml. It has the form of a PromQL matcher.
func matchersOf(t *testing.T, text string) []*labels.Matcher {
	t.Helper()
	found, err := newParser().ParseMetricSelector("{" + text + `,__name__="ALERTS"}`)
	if err != nil {
		t.Fatalf("alertmanager.yml: %s: %v", text, err)
	}
	return slices.DeleteFunc(found, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel })
}

func matchesAlert(m *labels.Matcher, alerts []rule) bool {
	return slices.ContainsFunc(alerts, func(a rule) bool {
		wanted := m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp
		return m.Matches(a.Alert) == wanted
	})
}
