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

// TestKustomize compares the base with the chart, and what the generator exports for another label with the chart of that label.
func TestKustomize(t *testing.T) {
	folder := t.TempDir()
	export := exec.Command("go", "run", "./dashboards/gen", "-cluster", "region", "-to", folder)
	export.Dir = program.File(t, ".")
	if out, err := export.CombinedOutput(); err != nil {
		t.Fatalf("gen: %v\n%s", err, out)
	}
	for of, values := range map[string]string{program.File(t, "dashboards"): "", folder: "clusterLabel: region"} {
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

// TestChart_cases runs some cases of the rules on the rules of the chart, and on those for another label: as many say something
// about clusters, teams and objectives. Package rules runs all of them on the files that the chart is made of.
func TestChart_cases(t *testing.T) {
	promtool := program.Find(t, "prometheus", "promtool")
	for _, i := range installations()[:2] {
		folder := t.TempDir()
		all := chart(t, "clusterLabel: "+i.cluster)
		for name, text := range map[string][]byte{"recording.yml": all.rules(t), "alerts.yml": []byte("groups: []")} {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"objectives.yml", "places_test.yml", "objectives_test.yml", "push_test.yml"} {
			text, err := os.ReadFile(program.File(t, "dashboards/rules/"+name))
			if err != nil {
				t.Fatal(err)
			}
			text = regexp.MustCompile(`\bcluster\b`).ReplaceAll(text, []byte(i.cluster))
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.yml") {
				continue
			}
			test := exec.Command(promtool, "test", "rules", name)
			test.Dir = folder
			if out, err := test.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%s", i.name, name, err, out)
			}
		}
	}
}
