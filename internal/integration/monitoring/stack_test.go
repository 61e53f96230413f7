package monitoring

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// What the second job of the tests calls itself.
const (
	hostileJob      = `fixture (50%) of job.s+more`
	hostileInstance = `node-1.eu (a|b)`
	otherInstance   = `node-2`
	bareInstance    = `node-3, which has no hooks`

	// One instance has native histograms, in a cluster of its own. The other has classic ones, which have exemplars.
	fixtureCluster, classicCluster, fixtureNamespace = `eu.(1)`, `us`, `shop`
)

// A stack is everything that the compose file runs to watch the storefront, and a second service with two instances that live in the
// test, and one that has forgotten the hooks.
type stack struct {
	by           timescale
	scrape       time.Duration // if it is not that of the compose stack
	shop         *program.Process
	storefront   string // its address
	instances    []*instance
	alertmanager *program.Server
	prometheus   server
}

// newStack starts everything, with copies of the real configuration.
func newStack(t *testing.T, by timescale) *stack {
	t.Helper()
	program.Find(t, "prometheus", "prometheus")
	program.Find(t, "prometheus-alertmanager", "prometheus-alertmanager", "alertmanager")
	s := &stack{by: by, shop: program.Start(t, program.Build(t, "storefront"), "-listen", "127.0.0.1:0")}
	s.storefront = s.shop.AwaitURL(t)
	s.instances = []*instance{newInstance(t, nativeHistograms()), newInstance(t)}
	for _, i := range s.instances {
		i.work(t)
	}
	s.alertmanager = s.startAlertmanager(t)
	s.prometheus = answering(t, s.startPrometheus(t), time.Time{})
	return s
}

func write(t testing.TB, text []byte, folder ...string) (name string) {
	t.Helper()
	name = filepath.Join(folder...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

func (s *stack) startAlertmanager(t *testing.T) *program.Server {
	t.Helper()
	c := replica{by: s.by, hosts: strings.NewReplacer("storefront:8080", strings.TrimPrefix(s.storefront, "http://"))}
	config := write(t, c.of(t, "dashboards/alertmanager/alertmanager.yml"), t.TempDir(), "alertmanager.yml")
	return program.Alertmanager(t, config)
}

// startPrometheus starts a Prometheus whose files stand beside each other as they do in the repository.
func (s *stack) startPrometheus(t *testing.T) *program.Server {
	t.Helper()
	folder, plain := t.TempDir(), replica{by: s.by, hosts: strings.NewReplacer()}
	for _, name := range []string{"recording.yml", "alerts.yml"} {
		write(t, plain.of(t, "dashboards/rules/"+name), folder, "rules", name)
	}
	flags := []string{"--rules.alert.resend-delay=1s", "--query.lookback-delta=5s", "--enable-feature=native-histograms"}
	for _, flag := range compose(t).Services["prometheus"].Command {
		if strings.HasPrefix(flag, "--enable-feature=") || strings.HasPrefix(flag, "--web.cors.origin=") {
			flags = append(flags, flag)
		}
	}
	return program.Prometheus(t, t.TempDir(), func(address string) string {
		c := replica{by: s.by, hosts: strings.NewReplacer(
			"storefront:8080", strings.TrimPrefix(s.storefront, "http://"),
			"alertmanager:9093", s.alertmanager.Address,
			"localhost:9090", address,
		), change: func(config map[string]any) {
			if len(s.instances) > 0 {
				config["scrape_configs"] = append(config["scrape_configs"].([]any), s.fixtureJob(newBareInstance(t)))
			}
		}}
		return write(t, c.of(t, "dashboards/prometheus/prometheus.yml"), folder, "prometheus", "prometheus.yml")
	}, flags...)
}

func (s *stack) fixtureJob(bare string) map[string]any {
	at := func(address, name, cluster string) map[string]any {
		return map[string]any{"targets": []any{address}, "labels": map[string]any{"instance": name, "cluster": cluster, "namespace": fixtureNamespace, "team": "web"}}
	}
	return map[string]any{"job_name": hostileJob, "static_configs": []any{
		at(s.instances[0].address(), hostileInstance, fixtureCluster), at(s.instances[1].address(), otherInstance, classicCluster),
		at(bare, bareInstance, fixtureCluster),
	}}
}

// control changes the storefront, as its page does.
func (s *stack) control(t *testing.T, change string) {
	t.Helper()
	post(t, s.storefront+"/control", "application/json", change)
}

func (s *stack) alertmanagerAlerts(t *testing.T) []alarm {
	t.Helper()
	var all []alarm
	if err := json.Unmarshal([]byte(get(t, s.alertmanager.URL("/api/v2/alerts"))), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func contains(all, wanted map[string]string) bool {
	for name, value := range wanted {
		if all[name] != value {
			return false
		}
	}
	return true
}

// A condition is checked until missing returns "".
type condition struct {
	what    string
	missing func() string
}

// awaitAll waits until all conditions were met once, in any order, and reports those that were not. The
// time limit of Eventually is for all of them together.
func awaitAll(t testing.TB, what string, conditions ...condition) {
	t.Helper()
	program.Eventually(t, what, func() string {
		var open []condition
		var texts []string
		for _, h := range conditions {
			if lack := h.missing(); lack != "" {
				open = append(open, h)
				texts = append(texts, h.what+": "+lack)
			}
		}
		conditions = open
		return strings.Join(texts, "\n")
	})
}

func client() *http.Client { return &http.Client{Timeout: program.Timeout} }

func get(t testing.TB, url string) string {
	t.Helper()
	response, err := client().Get(url)
	return body(t, url, response, err)
}

func post(t testing.TB, url, kind, text string) string {
	t.Helper()
	response, err := client().Post(url, kind, strings.NewReader(text))
	return body(t, url, response, err)
}

func body(t testing.TB, url string, response *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %s, error %v and %s want 200", url, response.Status, err, text)
	}
	return string(text)
}
