package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/integration/program"
)

// What the second job of the tests calls itself.
const (
	hostileJob      = `fixture (50%) of job.s+more`
	hostileInstance = `node-1.eu (a|b)`
	otherInstance   = `node-2`
	bareInstance    = `node-3, which has no hooks`
)

// A stack is everything that the compose file runs to watch the storefront, and a second service with two instances that live in the
// test, and one that has forgotten the hooks.
type stack struct {
	storefront   string // its address
	instances    []*instance
	told         *receiver
	alertmanager *program.Server
	prometheus   server
}

// newStack starts everything, with copies of the real configuration.
func newStack(t *testing.T) *stack {
	t.Helper()
	program.Find(t, "prometheus", "prometheus")
	program.Find(t, "prometheus-alertmanager", "prometheus-alertmanager", "alertmanager")
	s := &stack{storefront: program.Example(t, "storefront", "-listen", "127.0.0.1:0")}
	for range 2 {
		i := newInstance(t)
		i.work(t)
		s.instances = append(s.instances, i)
	}
	s.told = newReceiver(t, s.storefront)
	s.alertmanager = s.startAlertmanager(t)
	s.prometheus = server{s.startPrometheus(t)}
	return s
}

// write writes a file of a test.
func write(t testing.TB, text []byte, folder ...string) (name string) {
	t.Helper()
	name = filepath.Join(folder...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func (s *stack) startAlertmanager(t *testing.T) *program.Server {
	t.Helper()
	c := replica{hosts: strings.NewReplacer("storefront:8080", s.told.server.Listener.Addr().String())}
	config := write(t, c.of(t, "dashboards/alertmanager/alertmanager.yml"), t.TempDir(), "alertmanager.yml")
	return program.Alertmanager(t, config)
}

// startPrometheus starts a Prometheus whose files stand beside each other as they do in the repository.
func (s *stack) startPrometheus(t *testing.T) *program.Server {
	t.Helper()
	folder, plain := t.TempDir(), replica{hosts: strings.NewReplacer()}
	for _, name := range []string{"recording.yml", "alerts.yml"} {
		write(t, plain.of(t, "dashboards/rules/"+name), folder, "rules", name)
	}
	bare := newBareInstance(t)
	flags := []string{"--rules.alert.resend-delay=1s", "--query.lookback-delta=5s"}
	for _, flag := range compose(t).Services["prometheus"].Command {
		if strings.HasPrefix(flag, "--enable-feature=") || strings.HasPrefix(flag, "--web.cors.origin=") {
			flags = append(flags, flag)
		}
	}
	return program.Prometheus(t, func(address string) string {
		c := replica{hosts: strings.NewReplacer(
			"storefront:8080", strings.TrimPrefix(s.storefront, "http://"),
			"alertmanager:9093", s.alertmanager.Address,
			"localhost:9090", address,
		), change: func(config map[string]any) {
			config["scrape_configs"] = append(config["scrape_configs"].([]any), s.fixtureJob(bare))
		}}
		return write(t, c.of(t, "dashboards/prometheus/prometheus.yml"), folder, "prometheus", "prometheus.yml")
	}, flags...)
}

// fixtureJob is the second service, as Prometheus has it in its configuration.
func (s *stack) fixtureJob(bare string) map[string]any {
	at := func(address, name string) map[string]any {
		return map[string]any{"targets": []any{address}, "labels": map[string]any{"instance": name}}
	}
	return map[string]any{"job_name": hostileJob, "static_configs": []any{
		at(s.instances[0].address(), hostileInstance), at(s.instances[1].address(), otherInstance), at(bare, bareInstance),
	}}
}

// control changes the storefront, as its page does.
func (s *stack) control(t *testing.T, wish string) {
	t.Helper()
	post(t, s.storefront+"/control", "application/json", wish)
}

// notified returns the alerts that Alertmanager has.
func (s *stack) notified(t *testing.T) []alarm {
	t.Helper()
	var all []alarm
	if err := json.Unmarshal([]byte(get(t, s.alertmanager.URL("/api/v2/alerts"))), &all); err != nil {
		t.Fatal(err)
	}
	return all
}
