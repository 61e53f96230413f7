package spillway_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	faultkinds "github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

// A seen process is one of docs/operating.md, whose series are counted.
type seen struct {
	tel     *otelthrottle.Telemetry
	metrics http.Handler
}

func newSeen(t *testing.T, options ...otelthrottle.Option) *seen {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	tel, err := otelthrottle.New(append(options, otelthrottle.WithMeterProvider(meters))...)
	if err != nil {
		t.Fatal(err)
	}
	return &seen{tel: tel, metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
}

// series counts what a scrape has of ours.
func (s *seen) series() (n int) {
	w := httptest.NewRecorder()
	s.metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "throttle_") {
			n++
		}
	}
	return n
}

// adds returns how many series something adds.
func (s *seen) adds(something func()) int {
	before := s.series()
	something()
	return s.series() - before
}

// endings are the ways in which the calls of the guide's throttles end: a throttle with a backend that has had a bad day.
func endings() []error {
	return []error{nil, faultkinds.NotFound, faultkinds.Unavailable(0), context.Canceled}
}

// ending makes a call of each priority end in each way.
func ending(t *testing.T, th *throttle.Throttle) {
	t.Helper()
	for p := range throttle.Priority(throttle.StandardPriorities) {
		for _, err := range endings() {
			if got := th.Do(t.Context(), p, func(context.Context) error { return err }); !errors.Is(got, err) {
				t.Fatalf("got error %v want %v", got, err)
			}
		}
	}
}

// group makes a throttle for each of fifty hosts, of one name.
func (s *seen) group(t *testing.T, use func(*testing.T, *throttle.Throttle)) {
	t.Helper()
	hosts, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Mode: throttle.ModeOff, Hooks: s.tel.Hooks()}
	}, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		th, err := hosts.Get(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		use(t, th)
	}
}

// breaker makes one with a hundred circuits.
func (s *seen) breaker(t *testing.T) {
	t.Helper()
	m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: s.tel.BreakerHooks()}))
	for i := range 100 {
		if err := m.Disable(t.Context(), breaker.Key{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// elsewhere is a store that is not taken for one in memory.
type elsewhere struct{ store.Store }

// limiter makes one with a hundred buckets.
func (s *seen) limiter(t *testing.T, name string, store store.Store) {
	t.Helper()
	l := bucket.Must(bucket.New(bucket.Config{
		Name: name, Limit: bucket.PerSecond(1), Store: store, Hooks: s.tel.BucketHooks(), StoreTimeout: time.Minute,
	}))
	for i := range 100 {
		if _, err := l.Decide(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// backoff makes one that somebody has waited for.
func (s *seen) backoff(t *testing.T) {
	t.Helper()
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders", Mode: backoff.Sleep, InitialInterval: time.Millisecond, Hooks: s.tel.BackoffHooks()}))
	if err := r.SleepOnFailure(t.Context()); err != nil || r.Stats().Slept != 1 {
		t.Fatalf("got error %v and %+v want somebody who has waited", err, r.Stats())
	}
}

// counted makes all that the process has, and returns how many series each of it adds.
func (s *seen) counted(t *testing.T) []int {
	t.Helper()
	return []int{
		s.adds(func() { ending(t, s.throttle("stock")) }),
		s.adds(func() { ending(t, s.throttle("payments")) }),
		s.adds(func() { s.group(t, ending) }),
		s.adds(func() { s.breaker(t) }),
		s.adds(func() { s.limiter(t, "searches", nil) }),
		s.adds(func() { s.limiter(t, "geocoder", elsewhere{bucket.NewMemoryStore()}) }),
		s.adds(func() { s.backoff(t) }),
	}
}

// throttle makes one that lets everything through, and counts.
func (s *seen) throttle(name string) *throttle.Throttle {
	return throttle.Must(throttle.New(throttle.Config{Name: name, Mode: throttle.ModeOff, Hooks: s.tel.Hooks()}))
}

// TestTheGuidesSeries counts the series of the process in docs/operating.md, and holds the page to the numbers.
func TestTheGuidesSeries(t *testing.T) {
	page := readFile(t, "docs/operating.md")
	for name, options := range map[string][]otelthrottle.Option{
		"with durations": nil, "`WithoutDuration`": {otelthrottle.WithoutDuration()},
	} {
		sum, row := 0, "| "+name+" |"
		for _, n := range newSeen(t, options...).counted(t) {
			sum, row = sum+n, fmt.Sprintf("%s %d |", row, n)
		}
		if row = fmt.Sprintf("%s **%d** |", row, sum); !strings.Contains(page, row) {
			t.Errorf("docs/operating.md: got no row\n%s", row)
		}
	}
}

// TestTheGuidesFormula holds the page's formula to what a throttle and a group of fifty add.
func TestTheGuidesFormula(t *testing.T) {
	if page, formula := readFile(t, "docs/operating.md"), "1 + P × (6 + 19 × E + F)"; !strings.Contains(page, formula) {
		t.Errorf("docs/operating.md: got no formula %s", formula)
	}
	want := 1 + throttle.StandardPriorities*(6+19*len(endings()))
	s := newSeen(t)
	if got := s.adds(func() { ending(t, s.throttle("stock")) }); got != want {
		t.Errorf("series of a throttle: got %d want %d", got, want)
	}
	if got := s.adds(func() { s.group(t, ending) }); got != want {
		t.Errorf("series of a group: got %d want %d", got, want)
	}
	if got, want := s.adds(func() { s.throttle("idle") }), 1+7*throttle.StandardPriorities; got != want {
		t.Errorf("series of a throttle without calls: got %d want %d", got, want)
	}
}

// TestTheGuidesAlerts holds the page's table of alerts to the rules: each stands in the row of its severity, and no other does.
func TestTheGuidesAlerts(t *testing.T) {
	want, alert := map[string]map[string]bool{}, ""
	for line := range strings.Lines(readFile(t, "dashboards/rules/alerts.yml")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); ok {
			alert = name
		}
		if severity, ok := strings.CutPrefix(strings.TrimSpace(line), "severity: "); ok {
			if want[severity] == nil {
				want[severity] = map[string]bool{}
			}
			want[severity][alert] = true
		}
	}
	page := readFile(t, "docs/operating.md")
	for severity, alerts := range want {
		_, row, _ := strings.Cut(page, "\n| `"+severity+"` |")
		row, _, _ = strings.Cut(row, "\n")
		got := map[string]bool{}
		for _, link := range regexp.MustCompile(`\[(Throttle\w+)\]`).FindAllStringSubmatch(row, -1) {
			got[link[1]] = true
		}
		if !maps.Equal(got, alerts) {
			t.Errorf("docs/operating.md, %s: got %v\nwant %v", severity, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(alerts)))
		}
	}
	if len(want) != 3 {
		t.Errorf("severities: got %d want 3: does this test still read the rules?", len(want))
	}
}
