package install

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/strvals"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// maxCommands is from an empty namespace to a page.
const maxCommands = 6

// firstCommands returns the block of dashboards/README.md that leads to a page about a shed High call.
func firstCommands(t *testing.T) []string {
	t.Helper()
	text := throttle.Must(os.ReadFile(program.File(t, "dashboards/README.md")))
	found := regexp.MustCompile("(?s)to a page about a shed High\\s+call, with Helm:\\s+```sh\n(.*?)\n```").FindSubmatch(text)
	if found == nil {
		t.Fatal("dashboards/README.md: got no block of commands that lead to a page")
	}
	return strings.Split(string(found[1]), "\n")
}

// only returns what follows the only command that begins so.
func only(t *testing.T, commands []string, beginning string) string {
	t.Helper()
	i := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, beginning) })
	if i < 0 {
		t.Fatalf("got no command %s in %q", beginning, commands)
	}
	return strings.TrimPrefix(commands[i], beginning)
}

// TestFirstCommands follows the commands of a fresh reader: few, and with what they set, Prometheus finds rules and pods, and the
// alert about a shed High call is sent.
func TestFirstCommands(t *testing.T) {
	commands := firstCommands(t)
	t.Logf("%d commands:\n%s", len(commands), strings.Join(commands, "\n"))
	if len(commands) > maxCommands {
		t.Errorf("got %d commands want %d at most", len(commands), maxCommands)
	}
	flags := only(t, commands, "helm install spillway charts/spillway-monitoring -n monitoring --set ")
	values := throttle.Must(strvals.Parse(flags))
	text := throttle.Must(yaml.Marshal(values))
	all := chart(t, string(text))
	release, _, _ := strings.Cut(only(t, commands, "helm install "), " ")
	for _, name := range []string{"PrometheusRule spillway", "PodMonitor spillway"} {
		if got := all[name].Metadata.Labels["release"]; got != release {
			t.Errorf("%s: got label release=%s want %s, which the Prometheus of that release looks for", name, got, release)
		}
	}
	if !strings.Contains(strings.Join(commands, "\n"), "alertmanagerConfigMatcherStrategy.type=None") {
		t.Error("got no alertmanagerConfigMatcherStrategy: Alertmanager would ignore alerts of other namespaces")
	}
	checkPods(t, all, only(t, commands, "kubectl patch deployment shop -n shop -p "))
	checkReceiver(t, all)
}

// checkPods compares the labels that a patch gives pods with those that the PodMonitor reads.
func checkPods(t *testing.T, all objects, patch string) {
	t.Helper()
	var deployment struct {
		Spec struct {
			Template struct {
				Metadata struct{ Labels map[string]string }
			}
		}
	}
	if err := json.Unmarshal([]byte(strings.Trim(patch, "'")), &deployment); err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	labels := deployment.Spec.Template.Metadata.Labels
	monitor := all["PodMonitor spillway"].Spec
	for name, value := range monitor["selector"].(map[string]any)["matchLabels"].(map[string]any) {
		if labels[name] != value {
			t.Errorf("pods: got label %s=%q want %q", name, labels[name], value)
		}
	}
	if job := monitor["jobLabel"].(string); labels[job] == "" || labels["team"] == "" {
		t.Errorf("pods: got labels %v want %s and team too", labels, job)
	}
}

// checkReceiver expects a route for critical alerts, to a receiver with an address. Package rules tests that one is about shed High calls.
func checkReceiver(t *testing.T, all objects) {
	t.Helper()
	config := throttle.Must(json.Marshal(all["AlertmanagerConfig spillway"].Spec))
	for _, want := range []string{
		`"receivers":[{"name":"spillway","webhookConfigs":[{"url":"https://`, `"receiver":"spillway"`, `"inhibitRules":[`,
		`"matchers":[{"matchType":"=","name":"component","value":"throttle"},{"matchType":"=","name":"severity","value":"critical"}]`,
	} {
		if !strings.Contains(string(config), want) {
			t.Errorf("AlertmanagerConfig: got %.400s want %s in it", config, want)
		}
	}
}
