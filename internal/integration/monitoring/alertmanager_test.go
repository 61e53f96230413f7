package monitoring

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// An alertmanagerFile has the parts of the configuration of Alertmanager that are checked here.
type alertmanagerFile struct {
	Route     route
	Receivers []struct {
		Name     string
		Webhooks []struct{ URL string } `yaml:"webhook_configs"`
	}
	Inhibitions []inhibition `yaml:"inhibit_rules"`
}

type route struct {
	Receiver string
	GroupBy  []string `yaml:"group_by"`
	Matchers []string
	Routes   []route
}

type inhibition struct {
	Sources []string `yaml:"source_matchers"`
	Targets []string `yaml:"target_matchers"`
	Equal   []string
}

// matchers returns all matchers of a route and of those below it.
func (r route) matchers() []string {
	all := slices.Clone(r.Matchers)
	for _, below := range r.Routes {
		all = append(all, below.matchers()...)
	}
	return all
}

func readAlertmanager(t testing.TB) alertmanagerFile {
	t.Helper()
	var file alertmanagerFile
	readYAML(t, "dashboards/alertmanager/alertmanager.yml", &file)
	return file
}

// TestAlertmanager checks the configuration with amtool, and its labels with the vocabulary, because
// amtool accepts any label.
func TestAlertmanager(t *testing.T) {
	tool := program.Find(t, "prometheus-alertmanager", "amtool")
	v := libraryVocabulary(t)
	file := readAlertmanager(t)
	t.Run("check-config", func(t *testing.T) {
		checkAlertmanagerNames(t, v, file)
		run(t, "dashboards/alertmanager", tool, "check-config", "alertmanager.yml")
	})
	t.Run("routes", func(t *testing.T) {
		_, alerts := readRules(t)
		for _, a := range alerts {
			asked := []string{"alertname=" + a.Alert}
			for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
				asked = append(asked, name+"="+a.Labels[name])
			}
			if receiver := routed(t, tool, asked...); !file.passesOn(receiver) {
				t.Errorf("%v: got receiver %s, which has no webhook", asked, receiver)
			}
		}
		if receiver := routed(t, tool, "alertname=DiskFull", "severity=critical"); file.passesOn(receiver) {
			t.Errorf("an alert of another product: got receiver %s want one without a webhook", receiver)
		}
	})
}

// routed returns the receiver of an alert.
func routed(t *testing.T, tool string, labels ...string) string {
	t.Helper()
	cmd := exec.Command(tool, append([]string{"config", "routes", "test", "--config.file=alertmanager.yml"}, labels...)...)
	cmd.Dir = program.File(t, "dashboards/alertmanager")
	out, err := cmd.Output() // without the warnings on stderr
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(tool), err, out)
	}
	return strings.TrimSpace(string(out))
}

// passesOn reports whether the receiver has a webhook.
func (f alertmanagerFile) passesOn(receiver string) bool {
	for _, r := range f.Receivers {
		if r.Name == receiver {
			return len(r.Webhooks) > 0
		}
	}
	return false
}

// checkAlertmanagerNames checks that routes and inhibitions use only labels of our alerts and names of
// existing alerts.
func checkAlertmanagerNames(t *testing.T, v *vocabulary, file alertmanagerFile) {
	t.Helper()
	names := append(slices.Clone(file.Route.GroupBy), "alertname")
	written := file.Route.matchers()
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
