package dashboards_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/dashboards"
	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/retry"
)

// lintFile returns .lint, the exceptions for Grafana's linter. It is not embedded.
func lintFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(".lint")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEverythingIsEmbedded checks that all files are embedded, except those for development. The
// tests of the rules are not, because Prometheus would load them as rules.
func TestEverythingIsEmbedded(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		if err != nil || entry.IsDir() {
			return err
		}
		ours := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.yml") || name == ".lint"
		_, missing := fs.Stat(dashboards.FS, name)
		if ours != (missing != nil) {
			t.Errorf("%s: got it embedded %v want %v", name, missing == nil, !ours)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// exposed returns the names of all metrics and labels that a service with throttles, breakers, token buckets, backoffs and retriers shows to Prometheus.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	tel, err := otelthrottle.New(otelthrottle.WithMeterProvider(meters), otelthrottle.WithBreakerDetail(1), otelthrottle.WithObjective(0.999, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	ctl := throttle.Must(control.New(control.Config{Hooks: tel.ControlHooks()}))
	defer ctl.Close()
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Slow: time.Second, Hooks: throttle.JoinHooks(tel.Hooks(), ctl.ThrottleHooks())}))
	defer th.Close()
	failing := func(context.Context) (int, error) { return 0, throttle.MarkOverloaded(faults.Unavailable(0)) }
	_, _ = throttle.Do(t.Context(), th, throttle.Priority(99), failing, func(context.Context, error, bool) (int, error) {
		return 0, errors.New("nothing kept either")
	})
	th.LoadReport()
	th.ReceiveLoad(throttle.LoadReport{Overloaded: true})
	if err := th.DoLocal(t.Context(), throttle.High, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for throttle.Processor().Processors == 0 { // until the scheduler was read
		runtime.Gosched()
	}
	b := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: tel.BreakerHooks()}))
	defer b.Close()
	if err := b.Disable(t.Context(), breaker.Key{Tenant: "acme", ID: "a"}); err != nil {
		t.Fatal(err)
	}
	l := bucket.Must(bucket.New(bucket.Config{Name: "partner", Limit: bucket.PerSecond(1), Store: silent{bucket.NewMemoryStore()}, Hooks: tel.BucketHooks()}))
	defer l.Close()
	if d, err := l.Decide(t.Context(), "a"); err != nil || !d.Allowed {
		t.Fatalf("Decide: got %v and error %v want it granted, without a store", d, err)
	}
	r := backoff.Must(backoff.New(backoff.Config{Name: "table", Mode: backoff.Sleep, InitialInterval: time.Microsecond, Hooks: tel.BackoffHooks()}))
	defer r.Close()
	if err := errors.Join(r.SleepOnFailure(t.Context()), r.SleepOnFailure(t.Context())); err != nil {
		t.Fatalf("SleepOnFailure: got error %v want none", err)
	}
	retrier := throttle.Must(retry.New(retry.Config{Name: "db", Hooks: tel.RetryHooks()}))
	defer retrier.Close()
	tel.RetryHooks().Arrived(t.Context(), retry.ArrivalEvent{Name: "shop", Attempt: 2})
	ratio := 3.0
	if _, err := ctl.Apply(t.Context(), control.Document{Throttles: map[string]*control.Throttle{"db": {Patch: throttle.Patch{Ratio: &ratio}}}}); err != nil {
		t.Fatal(err)
	}
	if err := ctl.Watch(t.Context(), "missing.json"); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, family := range families {
		for _, ending := range []string{"", "_bucket", "_sum", "_count"} {
			names[family.GetName()+ending] = true
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				names[label.GetName()] = true
			}
		}
	}
	return names
}

// silent is a store that gives no answer.
type silent struct{ store.Store }

func (silent) Take(context.Context, store.Request) (bucket.Decision, error) {
	return bucket.Decision{}, faults.Unavailable(0)
}

// TestMetricsExist checks that dashboards and rules use only metrics and labels that are exported.
func TestMetricsExist(t *testing.T) {
	known := exposed(t)
	name := regexp.MustCompile(`\b(?:throttle_|error_type)\w*`)
	err := fs.WalkDir(dashboards.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		for line := range strings.Lines(string(readFile(t, path))) {
			for _, found := range name.FindAllString(line, -1) {
				if !known[found] && !strings.HasPrefix(strings.TrimSpace(line), "#") {
					t.Errorf("%s: got %s, which nothing exposes, in %s", path, found, strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRulesKeepPlaces checks that rules and Alertmanager group and join by cluster and namespace: one cluster must not hide another.
func TestRulesKeepPlaces(t *testing.T) {
	for file, lists := range map[string]*regexp.Regexp{
		"rules/recording.yml":           regexp.MustCompile(`\b(?:by|on|ignoring|without) \(([^)]*)\)`),
		"rules/alerts.yml":              regexp.MustCompile(`\b(?:by|on|ignoring|without) \(([^)]*)\)`),
		"alertmanager/alertmanager.yml": regexp.MustCompile(`(?:equal|group_by): \[([^\]]*)\]`),
	} {
		found := lists.FindAllStringSubmatch(string(readFile(t, file)), -1)
		if len(found) < 7 {
			t.Errorf("%s: got %d lists of labels want seven at least", file, len(found))
		}
		for _, m := range found {
			if m[1] != "job" && !strings.Contains(m[1], "cluster, namespace, team, job") { // an objective is of a job in all clusters
				t.Errorf("%s: got %s want cluster, namespace, team and job in it", file, m[0])
			}
		}
	}
	links := regexp.MustCompile(`(?m)^ +dashboard_url: (?:&\w+ )?(/.*)$`).FindAllStringSubmatch(string(readFile(t, "rules/alerts.yml")), -1)
	for _, m := range links {
		if !strings.Contains(m[1], "{{ with $labels.cluster }}&var-cluster=") || !strings.Contains(m[1], "{{ with $labels.namespace }}&var-namespace=") {
			t.Errorf("rules/alerts.yml: got dashboard_url %s want the cluster and the namespace in it", m[1])
		}
	}
}

// TestRunbooksNamePanels checks that the panels that the runbooks name exist.
func TestRunbooksNamePanels(t *testing.T) {
	titles := map[string][]string{}
	for _, b := range boards(t) {
		name := strings.TrimPrefix(b.Title, "Throttle / ")
		for _, p := range b.panels() {
			titles[name] = append(titles[name], p.Title)
		}
		for _, p := range b.Panels {
			titles[name] = append(titles[name], p.Title) // rows too
		}
	}
	named := regexp.MustCompile(`\*(Overview|Availability|Breakers|Limits|Backoffs) → ([^*]+)\*`).FindAllStringSubmatch(string(readFile(t, "runbooks.md")), -1)
	if len(named) < 10 {
		t.Errorf("runbooks: got %d panels named want ten at least", len(named))
	}
	for _, m := range named {
		title := strings.Join(strings.Fields(m[2]), " ") // a line may end within
		if !slices.Contains(titles[m[1]], title) {
			t.Errorf("runbooks: got %q of dashboard %q want one of %q", title, m[1], titles[m[1]])
		}
	}
}

// TestRunbooksHaveAnAnchorPerAlert checks both anchors of a section: dashboards link by the name of
// the alert, alerts by the heading.
func TestRunbooksHaveAnAnchorPerAlert(t *testing.T) {
	text := string(readFile(t, "runbooks.md"))
	alerts := regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(string(readFile(t, "rules/alerts.yml")), -1)
	if len(alerts) < 14 {
		t.Errorf("alerts: got %d want fourteen at least", len(alerts))
	}
	for _, m := range alerts {
		if !strings.Contains(text, "<a id=\""+m[1]+"\"></a>\n\n## "+m[1]+"\n") {
			t.Errorf("%s: got no heading with an anchor", m[1])
		}
	}
}
