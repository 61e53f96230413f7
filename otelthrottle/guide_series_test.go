package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"
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

// An operatedProcess is a process as docs/series-and-cost.md describes it. The tests count its series.
type operatedProcess struct {
	tel     *otelthrottle.Telemetry
	metrics http.Handler
}

func newOperatedProcess(t *testing.T, options ...otelthrottle.Option) *operatedProcess {
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
	return &operatedProcess{tel: tel, metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
}

// series returns the number of series that a scrape has of this module.
func (o *operatedProcess) series() (n int) {
	w := httptest.NewRecorder()
	o.metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "throttle_") {
			n++
		}
	}
	return n
}

// added returns the number of series that start adds.
func (o *operatedProcess) added(start func()) int {
	before := o.series()
	start()
	return o.series() - before
}

// guideResults are the results of calls that the page counts: success, a fault, a rejection and a cancellation.
func guideResults() []error {
	return []error{nil, faults.NotFound, faults.Unavailable(0), context.Canceled}
}

// callAll makes a call of each priority with each of guideResults.
func callAll(t *testing.T, th *throttle.Throttle) {
	t.Helper()
	for p := range throttle.Priority(throttle.StandardPriorities) {
		for _, err := range guideResults() {
			if got := th.Do(t.Context(), p, returns(err)); !errors.Is(got, err) {
				t.Fatalf("got error %v want %v", got, err)
			}
		}
	}
}

// startThrottle starts a throttle that admits every call.
func (o *operatedProcess) startThrottle(name string) *throttle.Throttle {
	return throttle.Must(throttle.New(throttle.Config{Name: name, Mode: throttle.ModeOff, Hooks: o.tel.Hooks()}))
}

// startGroup starts a group of fifty throttles of one name, and makes the calls of callAll with each.
func (o *operatedProcess) startGroup(t *testing.T) {
	t.Helper()
	hosts, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Mode: throttle.ModeOff, Hooks: o.tel.Hooks()}
	}, throttle.GroupConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		th, err := hosts.Get(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		callAll(t, th)
	}
}

// startBreaker starts a breaker with a hundred circuits.
func (o *operatedProcess) startBreaker(t *testing.T) {
	t.Helper()
	m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Hooks: o.tel.BreakerHooks()}))
	for i := range 100 {
		if err := m.Disable(t.Context(), breaker.Key{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// remoteStore hides the type of a store in memory, so that the limiter treats it as a shared store.
type remoteStore struct{ store.Store }

// startLimiter starts a limiter with a hundred buckets.
func (o *operatedProcess) startLimiter(t *testing.T, name string, buckets store.Store) {
	t.Helper()
	l := bucket.Must(bucket.New(bucket.Config{
		Name: name, Limit: bucket.PerSecond(1), Store: buckets, Hooks: o.tel.BucketHooks(), StoreTimeout: time.Minute,
	}))
	for i := range 100 {
		if _, err := l.Decide(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// startBackoff starts a backoff that has slept once.
func (o *operatedProcess) startBackoff(t *testing.T) {
	t.Helper()
	r := backoff.Must(backoff.New(backoff.Config{Name: "orders", Mode: backoff.Sleep, InitialInterval: time.Millisecond, Hooks: o.tel.BackoffHooks()}))
	if err := r.SleepOnFailure(t.Context()); err != nil || r.Stats().Slept != 1 {
		t.Fatalf("got error %v and %+v want one sleep", err, r.Stats())
	}
}

// seriesOfEach starts the systems of the page's table in its order, and returns the number of series that each adds.
func (o *operatedProcess) seriesOfEach(t *testing.T) []int {
	t.Helper()
	return []int{
		o.added(func() { callAll(t, o.startThrottle("stock")) }),
		o.added(func() { callAll(t, o.startThrottle("payments")) }),
		o.added(func() { o.startGroup(t) }),
		o.added(func() { o.startBreaker(t) }),
		o.added(func() { o.startLimiter(t, "searches", nil) }),
		o.added(func() { o.startLimiter(t, "geocoder", remoteStore{bucket.NewMemoryStore()}) }),
		o.added(func() { o.startBackoff(t) }),
	}
}

// seriesWithoutPriority is the number of series of a throttle that have no priority: one for each reason of an
// alert, and the background, the invalid priorities, the open calls and the mode.
func seriesWithoutPriority() int { return len(alertReasons()) + 4 }

func operatingPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/series-and-cost.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestSeriesOfOperatingPage counts the series of the process in docs/series-and-cost.md and compares them with its table.
func TestSeriesOfOperatingPage(t *testing.T) {
	page := operatingPage(t)
	for name, options := range map[string][]otelthrottle.Option{
		"with durations": nil, "`WithoutDuration`": {otelthrottle.WithoutDuration()},
	} {
		sum, row := 0, "| "+name+" |"
		for _, n := range newOperatedProcess(t, options...).seriesOfEach(t) {
			sum, row = sum+n, fmt.Sprintf("%s %d |", row, n)
		}
		if row = fmt.Sprintf("%s **%d** |", row, sum); !strings.Contains(page, row) {
			t.Errorf("docs/series-and-cost.md: got no row\n%s", row)
		}
	}
}

// TestFormulaOfOperatingPage compares the page's formula with the series of a throttle and of a group of fifty.
func TestFormulaOfOperatingPage(t *testing.T) {
	if page, formula := operatingPage(t), fmt.Sprintf("%d + P × (6 + 19 × E + F)", seriesWithoutPriority()); !strings.Contains(page, formula) {
		t.Errorf("docs/series-and-cost.md: got no formula %s", formula)
	}
	want := seriesWithoutPriority() + throttle.StandardPriorities*(6+19*len(guideResults()))
	o := newOperatedProcess(t)
	if got := o.added(func() { callAll(t, o.startThrottle("stock")) }); got != want {
		t.Errorf("series of a throttle: got %d want %d", got, want)
	}
	if got := o.added(func() { o.startGroup(t) }); got != want {
		t.Errorf("series of a group: got %d want %d", got, want)
	}
	if got, want := o.added(func() { o.startThrottle("idle") }), seriesWithoutPriority()+7*throttle.StandardPriorities; got != want {
		t.Errorf("series of a throttle without calls: got %d want %d", got, want)
	}
}
