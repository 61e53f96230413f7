package monitoring

import (
	"slices"
	"testing"

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

// TestAlertmanager checks the configuration with amtool, and its labels and names of alerts with the vocabulary, because
// amtool accepts any label. That an alert of ours is delivered, TestEndToEnd checks.
func TestAlertmanager(t *testing.T) {
	var file alertmanagerFile
	readYAML(t, "dashboards/alertmanager/alertmanager.yml", &file)
	names, matchers := slices.Clone(file.Route.GroupBy), []string{}
	for _, r := range file.Route.Routes {
		matchers = append(matchers, r.Matchers...)
	}
	for _, i := range file.Inhibitions {
		names = append(names, i.Equal...)
		matchers = append(append(matchers, i.Sources...), i.Targets...)
	}
	v := libraryVocabulary(t)
	for _, name := range names {
		if !v.labels["ALERTS"][name] {
			t.Errorf("alertmanager.yml: no alert has a label %s", name)
		}
	}
	for _, m := range matchers { // which have the form of those of PromQL
		for _, wrong := range v.check("ALERTS{" + m + "}") {
			t.Errorf("alertmanager.yml: %s: %s", m, wrong)
		}
	}
	tool := program.Find(t, "prometheus-alertmanager", "amtool")
	run(t, "dashboards/alertmanager", tool, "check-config", "alertmanager.yml")
	for label, receiver := range map[string]string{"component=throttle": "storefront", "alertname=DiskFull": "discard"} {
		run(t, "dashboards/alertmanager", tool, "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers="+receiver, "severity=critical", label)
	}
}
