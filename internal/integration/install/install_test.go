package install

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// maxMap limits a ConfigMap, in bytes: kubectl apply copies an object into an annotation, which may have 262,144.
const maxMap = 200_000

// A values file, and what it must lead to.
type installation struct {
	name, values string
	cluster      string // the label
	kinds        []string
}

func installations() []installation {
	maps := []string{
		"ConfigMap throttle-availability", "ConfigMap throttle-backoffs", "ConfigMap throttle-breakers", "ConfigMap throttle-limits",
		"ConfigMap throttle-overview",
	}
	all := append([]string{"AlertmanagerConfig spillway"}, maps...)
	return []installation{
		{"one cluster", "", "cluster", append(slices.Clone(all), "PodMonitor spillway", "PrometheusRule spillway")},
		{"three clusters with the label region", `
clusterLabel: region
teamLabel: squad
runbookURL: https://ops.example.com/runbooks
objectives: {checkout: {success: 0.9995, p99: 0.3}, search: {success: 0.99}}
monitor: {kind: ServiceMonitor, namespaces: [shop, mail], cluster: eu-1}
dashboards: {namespace: grafana, labels: {board: yes-please}}
controls: {spillway-control: {namespace: shop, document: {throttles: {stock: {mode: "off"}}}}}
`, "region", slices.Sorted(slices.Values(append(slices.Clone(all), "ConfigMap spillway-control", "PrometheusRule spillway", "ServiceMonitor spillway")))},
		{"metrics pushed by OTLP", "monitor: {enabled: false}", "cluster", append(slices.Clone(all), "PrometheusRule spillway")},
	}
}

// TestChart renders the chart with three sets of values, and checks the rules with promtool.
func TestChart(t *testing.T) {
	promtool := program.Find(t, "prometheus", "promtool")
	for _, i := range installations() {
		t.Run(i.name, func(t *testing.T) {
			all := chart(t, i.values)
			if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, i.kinds) {
				t.Errorf("got %v want %v", got, i.kinds)
			}
			for name, o := range all {
				for file, text := range o.Data {
					if len(text) > maxMap || !json.Valid([]byte(text)) {
						t.Errorf("%s: got %d bytes of %s, which is JSON: %v; want %d bytes at most", name, len(text), file, json.Valid([]byte(text)), maxMap)
					}
				}
				if text, err := yaml.Marshal(o); err != nil || i.cluster != "cluster" && regexp.MustCompile(`\b(cluster|team)\b`).Match(text) {
					t.Errorf("%s: got error %v and a label cluster or team want others", name, err)
				}
			}
			file := filepath.Join(t.TempDir(), "rules.yml")
			if err := os.WriteFile(file, all.rules(t), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(promtool, "check", "rules", "--lint=all", "--lint-fatal", file).CombinedOutput(); err != nil {
				t.Errorf("promtool: %v\n%s", err, out)
			}
		})
	}
}

// TestChart_values checks what some values do.
func TestChart_values(t *testing.T) {
	all := chart(t, installations()[1].values)
	for name, want := range map[string][2]string{
		"ConfigMap throttle-overview": {all["ConfigMap throttle-overview"].Metadata.Namespace, "grafana"},
		"its label":                   {all["ConfigMap throttle-overview"].Metadata.Labels["board"], "yes-please"},
		"PrometheusRule":              {all["PrometheusRule spillway"].Metadata.Namespace, "monitoring"},
		"control":                     {all["ConfigMap spillway-control"].Metadata.Namespace, "shop"},
		"its document":                {all["ConfigMap spillway-control"].Data["control.json"], `{"throttles":{"stock":{"mode":"off"}}}`},
	} {
		if want[0] != want[1] {
			t.Errorf("%s: got %q want %q", name, want[0], want[1])
		}
	}
	rules := string(all.rules(t))
	for _, want := range []string{
		`https://ops.example.com/runbooks#throttlebackenddown`, `"objective":"success","service":"search"`, `vector(0.9995)`, `var-region=`, `$labels.region`,
		`by (region, namespace, squad, job, throttle_name)`,
	} {
		if !strings.Contains(rules, want) {
			t.Errorf("rules: got none of %s", want)
		}
	}
	monitor, err := json.Marshal(all["ServiceMonitor spillway"].Spec)
	want := `{"endpoints":[{"interval":"15s","path":"/metrics","port":"private","relabelings":[{"action":"replace","replacement":"eu-1",` +
		`"targetLabel":"region"}]}],"jobLabel":"app.kubernetes.io/name","namespaceSelector":{"matchNames":["shop","mail"]},` +
		`"selector":{"matchLabels":{"spillway":"enabled"}},"targetLabels":["squad"]}`
	if err != nil || string(monitor) != want {
		t.Errorf("ServiceMonitor: got %s, error %v\nwant %s", monitor, err, want)
	}
}

// TestChart_wrongObjective checks that a misspelt objective is refused. Rules with it would leave the service its default.
func TestChart_wrongObjective(t *testing.T) {
	_, err := render(t, "objectives: {checkout: {succes: 0.9995}}")
	if want := "objectives.checkout.succes: want success or p99"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v want %q in it", err, want)
	}
}

// TestKustomize compares the base with the chart, and what the generator exports for another label with the chart of that label.
func TestKustomize(t *testing.T) {
	folder := t.TempDir()
	export := exec.Command("go", "run", "./dashboards/gen", "-cluster", "region", "-team", "squad", "-runbooks", "https://ops.example.com/runbooks", "-to", folder)
	export.Dir = program.File(t, ".")
	if out, err := export.CombinedOutput(); err != nil {
		t.Fatalf("gen: %v\n%s", err, out)
	}
	for of, values := range map[string]string{program.File(t, "dashboards"): "", folder: "{clusterLabel: region, teamLabel: squad, runbookURL: https://ops.example.com/runbooks}"} {
		got, want := base(t, of), chart(t, values)
		if len(got) != len(want) {
			t.Errorf("%s: got %d objects want %d", of, len(got), len(want))
		}
		for name, o := range got {
			if !reflect.DeepEqual(o.Spec, want[name].Spec) || !maps.Equal(o.Data, want[name].Data) {
				t.Errorf("%s: %s differs from that of the chart", of, name)
			}
			for label, value := range o.Metadata.Labels {
				if strings.HasPrefix(name, "ConfigMap") && label == "grafana_dashboard" && value != want[name].Metadata.Labels[label] {
					t.Errorf("%s: %s: got label %s=%q want that of the chart", of, name, label, value)
				}
			}
		}
	}
}

// TestChart_rules compares the rules of each rendering with the files whose cases package rules runs, also with another label: they differ in names of
// labels only. So all cases hold for them too.
func TestChart_rules(t *testing.T) {
	for _, values := range []string{"", "clusterLabel: region", installations()[2].values} {
		rendered := groupsOf(t, chart(t, values).rules(t))
		label := "cluster"
		if strings.Contains(values, "region") {
			label = "region"
		}
		var want []map[string]any
		for _, name := range []string{"recording.yml", "alerts.yml"} {
			want = append(want, groupsOf(t, ruleFile(t, name, label))...)
		}
		byName := func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) }
		slices.SortFunc(rendered, byName)
		slices.SortFunc(want, byName)
		if !reflect.DeepEqual(rendered, want) {
			t.Errorf("%q: the rules differ from those in dashboards/rules by more than the name of a label", values)
		}
	}
}

func groupsOf(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var file struct{ Groups []map[string]any }
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) == 0 {
		t.Fatalf("got %d groups of rules and error %v", len(file.Groups), err)
	}
	return file.Groups
}

// ruleFile reads a file of dashboards/rules, with another label in place of cluster.
func ruleFile(t *testing.T, name, label string) []byte {
	t.Helper()
	text := throttle.Must(os.ReadFile(program.File(t, "dashboards/rules/"+name)))
	return regexp.MustCompile(`\bcluster\b`).ReplaceAll(text, []byte(label))
}
