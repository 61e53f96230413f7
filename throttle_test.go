package spillway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	faultkinds "github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/codes"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

const (
	acceptText        = ""
	acceptOpenMetrics = "application/openmetrics-text; version=1.0.0"
)

var errPlain = errors.New("no such product")

// TestThrottleToPrometheus follows one throttle from its first call to the page that Prometheus scrapes: through an
// overload, Close, a second throttle of the same name, and Shutdown.
func TestThrottleToPrometheus(t *testing.T) {
	app := newApp(t)
	app.scrape().want(t, "without a throttle", scrape{})
	th := app.throttle()
	app.scrape().want(t, "before the first call", atStart())

	app.overload(th)
	gauges := scrape{
		gauge("call_active", "low"):                       1,
		open():                                            1,
		gauge("window_requests", "high"):                  4,
		gauge("window_accepts", "high"):                   4,
		gauge("window_requests", "important"):             67,
		gauge("window_requests", "medium"):                25,
		gauge("window_requests", "low"):                   1,
		gauge("window_accepts", "low"):                    1,
		gauge("rejection_probability_ratio", "important"): 67.0 / (67 + 60),
		gauge("rejection_probability_ratio", "medium"):    th.RejectionProbability(throttle.Medium),
	}
	if p := gauges[gauge("rejection_probability_ratio", "medium")]; p <= 25.0/(25+60) || p >= 1 {
		t.Errorf("probability of medium: got %v want more than from its own calls alone, less than 1", p)
	}
	overloaded := merged(atStart(), countersAfterOverload(), durationsAfterOverload(), gauges)
	app.scrape().want(t, "after the overload", overloaded)
	app.scrape().want(t, "after the overload, scraped again", overloaded)

	sibling := app.throttle()
	_ = th.Close()
	oneClosed := app.scrape()
	oneClosed.of("throttle_calls").want(t, "one of two closed", overloaded.of("throttle_calls"))
	if got := oneClosed[gauge("call_active", "low")]; got != 0 {
		t.Errorf("active calls, one of two closed: got %v want 0", got)
	}
	_ = sibling.Close()
	app.scrape().want(t, "both closed", durationsAfterOverload()) // the SDK keeps its histograms

	app.throttle()
	app.scrape().want(t, "a new throttle of the name", merged(atStart(), countersAfterOverload(), durationsAfterOverload()))

	if err := app.tel.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown: got error %v want nil", err)
	}
	app.overload(app.throttle())
	app.scrape().want(t, "after Shutdown", durationsAfterOverload())
	if err := app.meters.Shutdown(t.Context()); err != nil {
		t.Fatalf("Shutdown of the MeterProvider: got error %v want nil", err)
	}
	app.scrape().want(t, "after Shutdown of the MeterProvider", scrape{})
}

// TestThrottleToPrometheus_Types parses the page with Prometheus' own parser.
func TestThrottleToPrometheus_Types(t *testing.T) {
	app := newApp(t)
	app.overload(app.throttle())
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(app.page(acceptText)))
	if err != nil {
		t.Fatalf("text format: got error %v want nil", err)
	}
	got := map[string]string{}
	for name, family := range families {
		if strings.HasPrefix(name, "throttle_") {
			got[name] = strings.ToLower(family.GetType().String())
		}
	}
	want := map[string]string{
		"throttle_calls_total": "counter", "throttle_fallbacks_total": "counter", "throttle_priority_clamped_total": "counter", "throttle_mode": "gauge",
		"throttle_call_duration_seconds": "histogram", "throttle_call_active": "gauge",
		"throttle_slow_open":                   "gauge",
		"throttle_rejection_probability_ratio": "gauge", "throttle_window_requests": "gauge", "throttle_window_accepts": "gauge",
	}
	if !maps.Equal(got, want) {
		t.Errorf("types: got %v want %v", got, want)
	}
}

// TestThrottleToPrometheus_Exemplars looks up the span of every exemplar, and the status of the throttle's spans.
func TestThrottleToPrometheus_Exemplars(t *testing.T) {
	app := newApp(t)
	app.overload(app.throttle())
	type ids struct{ trace, span string }
	own := map[ids]bool{}
	failed := 0
	for _, span := range app.spans.Ended() {
		if span.Name() != "throttle recommendations" {
			continue
		}
		own[ids{span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String()}] = true
		if span.Status().Code == codes.Error {
			failed++
		}
	}
	const admitted, withError = 3 + 1 + 1 + 60 + 20 + 1 + 1 + 2, 1 + 1 + 60 + 20 + 1
	if len(own) != admitted || failed != withError {
		t.Errorf("spans of the throttle: got %d, %d of them failed, want %d and %d", len(own), failed, admitted, withError)
	}
	exemplar := regexp.MustCompile(`(?m)^(\w+)\{.*\} \S+ # \{(.*)\} \S+ \S+$`)
	label := func(labels, name string) string {
		_, value, _ := strings.Cut(labels, name+`="`)
		value, _, _ = strings.Cut(value, `"`)
		return value
	}
	found := exemplar.FindAllStringSubmatch(app.page(acceptOpenMetrics), -1)
	if len(found) != 7 { // one for each combination of priority, outcome and error.type: their calls took equally long
		t.Errorf("exemplars: got %d want 7", len(found))
	}
	for _, x := range found {
		span := ids{label(x[2], "trace_id"), label(x[2], "span_id")}
		if !own[span] || x[1] != "throttle_call_duration_seconds_bucket" {
			t.Errorf("exemplar: got %v on %s want one on a bucket, with a span of the throttle", span, x[1])
		}
	}
	if inText := exemplar.FindAllString(app.page(acceptText), -1); len(inText) > 0 {
		t.Errorf("exemplars in the text format: got %d want none", len(inText))
	}
}

// An app has a throttle, the adapter, the SDK, the exporter and a server with /metrics, as a user wires them. The test
// sets its clock and its random numbers.
type app struct {
	t      *testing.T
	now    time.Time
	sheds  bool // shed every call whose probability is above 0
	meters *sdkmetric.MeterProvider
	traces *sdktrace.TracerProvider
	spans  *tracetest.SpanRecorder
	tel    *otelthrottle.Telemetry
	server *httptest.Server
}

func newApp(t *testing.T) *app {
	t.Helper()
	a := &app{t: t, now: time.Unix(1_700_000_000, 0), spans: tracetest.NewSpanRecorder()}
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatalf("exporter: got error %v want nil", err)
	}
	a.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	a.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(a.spans))
	a.tel, err = otelthrottle.New(otelthrottle.WithMeterProvider(a.meters), otelthrottle.WithTracerProvider(a.traces))
	if err != nil {
		t.Fatalf("otelthrottle.New: got error %v want nil", err)
	}
	a.server = httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	t.Cleanup(a.server.Close)
	return a
}

func (a *app) throttle() *throttle.Throttle {
	return throttle.Must(throttle.New(throttle.Config{
		Policy: throttle.SRE,
		Name:   "recommendations", Hooks: a.tel.Hooks(),
		Now: func() time.Time { return a.now },
		Rand: func() float64 {
			if a.sheds {
				return 0
			}
			return math.Nextafter(1, 0)
		},
	}))
}

// The durations are sums of powers of two, so that a sum of them is exact.
const (
	fast = time.Second / 512
	slow = time.Second / 32
)

// taking returns a call that takes d and returns err.
func (a *app) taking(d time.Duration, err error) func(context.Context) error {
	return func(context.Context) error {
		a.now = a.now.Add(d)
		return err
	}
}

// overload makes calls of every decision, outcome and kind of fallback.
func (a *app) overload(th *throttle.Throttle) {
	a.t.Helper()
	busy := faultkinds.Unavailable(0)
	serves := func(context.Context, error, bool) error { return nil }
	fails := func(context.Context, error, bool) error { return errPlain }
	ctx, request := a.traces.Tracer("app").Start(a.t.Context(), "request")
	defer request.End()
	do := func(n int, p throttle.Priority, fn func(context.Context) error, fallback ...throttle.Fallback) {
		for range n {
			_ = th.Do(ctx, p, fn, fallback...)
		}
	}
	do(3, throttle.High, a.taking(slow, nil))
	do(1, throttle.High, a.taking(slow, faultkinds.NotFound))
	do(1, throttle.High, a.taking(slow, context.Canceled))
	do(60, throttle.Important, a.taking(fast, busy))
	do(20, throttle.Medium, a.taking(fast, busy))
	do(1, throttle.Medium, a.taking(fast, busy), serves)
	do(1, 99, a.taking(fast, nil))
	a.now = a.now.Add(time.Second)
	a.sheds = true
	do(2, throttle.Important, a.taking(fast, nil))
	do(2, throttle.Important, a.taking(fast, nil), serves)
	do(1, throttle.Important, a.taking(fast, nil), fails)
	do(4, throttle.Medium, a.taking(fast, nil))
	a.tune(th, throttle.ModeShadow)
	do(1, throttle.Important, a.taking(fast, nil))
	do(1, throttle.Important, a.taking(fast, busy))
	a.tune(th, throttle.ModeEnforce)
	if _, err := th.Admit(ctx, throttle.Low); err != nil {
		a.t.Fatalf("Admit: got error %v want nil", err)
	}
}

func (a *app) tune(th *throttle.Throttle, mode throttle.Mode) {
	a.t.Helper()
	if err := th.Tune(throttle.Patch{Mode: &mode}); err != nil {
		a.t.Fatalf("Tune: got error %v want nil", err)
	}
}

// page returns the answer of /metrics in a format.
func (a *app) page(accept string) string {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.server.URL, http.NoBody)
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := a.server.Client().Do(request)
	if err != nil {
		a.t.Fatalf("scrape: got error %v want nil", err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		a.t.Fatalf("scrape: got status %d, error %v and %s want 200", response.StatusCode, err, page)
	}
	return string(page)
}

// scrape returns the series of the page, and checks that OpenMetrics has the same ones.
func (a *app) scrape() scrape {
	a.t.Helper()
	text, open := parseScrape(a.t, a.page(acceptText)), parseScrape(a.t, a.page(acceptOpenMetrics))
	for key := range text {
		// OpenMetrics writes the bound 1 of a bucket as 1.0.
		if _, ok := open[key]; !ok && !strings.HasPrefix(key, "throttle_call_duration_seconds_bucket") {
			a.t.Errorf("OpenMetrics: got no %s, which the text format has", key)
		}
	}
	return text
}

// A scrape maps series to their values. A series is a name with its labels, except the labels of the scope.
type scrape map[string]float64

// parseScrape reads the throttle's series from a page in the text format or in OpenMetrics.
func parseScrape(t *testing.T, page string) scrape {
	t.Helper()
	s := scrape{}
	line := regexp.MustCompile(`^(throttle_\w+)\{(.*?)\} (\S+)(?: # .*)?$`)
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	scope := map[string]string{
		"otel_scope_name": otelthrottle.ScopeName, "otel_scope_version": otelthrottle.Version, "otel_scope_schema_url": "",
	}
	for text := range strings.SplitSeq(page, "\n") {
		if !strings.HasPrefix(text, "throttle_") {
			continue
		}
		parts := line.FindStringSubmatch(text)
		if parts == nil {
			t.Fatalf("scrape: got %q want a sample", text)
		}
		var labels []string
		scoped := 0
		for _, pair := range label.FindAllStringSubmatch(parts[2], -1) {
			value, isScope := scope[pair[1]]
			switch {
			case !isScope:
				labels = append(labels, pair[0])
			case value == pair[2]:
				scoped++
			}
		}
		slices.Sort(labels)
		key := parts[1] + "{" + strings.Join(labels, ",") + "}"
		if _, twice := s[key]; twice || scoped != len(scope) {
			t.Errorf("%s: got it twice %v, with %d labels of the scope, want it once with %d", key, twice, scoped, len(scope))
		}
		value, err := strconv.ParseFloat(parts[3], 64)
		if err != nil {
			t.Errorf("%s: got value %s want a number", key, parts[3])
		}
		s[key] = value
	}
	return s
}

// want fails the test unless s has exactly the series of want.
func (s scrape) want(t *testing.T, when string, want scrape) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(merged(s, want))) {
		got, isThere := s[key]
		wanted, isWanted := want[key]
		switch {
		case !isWanted:
			t.Errorf("%s: got %s %v want no such series", when, key, got)
		case !isThere:
			t.Errorf("%s: got no %s want %v", when, key, wanted)
		case got != wanted:
			t.Errorf("%s: got %s %v want %v", when, key, got, wanted)
		}
	}
}

// of returns the series whose name has the prefix.
func (s scrape) of(prefix string) scrape {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(key string, _ float64) bool { return !strings.HasPrefix(key, prefix) })
	return some
}

// merged returns the series of all scrapes. The last value of a series wins.
func merged(scrapes ...scrape) scrape {
	all := scrape{}
	for _, s := range scrapes {
		maps.Copy(all, s)
	}
	return all
}

// sample returns a series. Labels are given as names, without their prefix throttle_, and values; a label with an empty
// value is left out.
func sample(name string, labels ...string) string {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] == "" {
			continue
		}
		label := labels[i]
		if label != "error_type" && label != "le" {
			label = "throttle_" + label
		}
		pairs = append(pairs, fmt.Sprintf("%s=%q", label, labels[i+1]))
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// calls, fallbacks, gauge and clamped return series of the throttle.

func calls(p, decision, outcome, errorType, cause string) string {
	return sample("throttle_calls_total", "name", "recommendations", "priority", p, "decision", decision,
		"outcome", outcome, "error_type", errorType, "cause", cause)
}

func fallbacks(p, outcome, errorType string) string {
	return sample("throttle_fallbacks_total", "name", "recommendations", "priority", p, "outcome", outcome, "error_type", errorType)
}

func gauge(metric, p string) string {
	return sample("throttle_"+metric, "name", "recommendations", "priority", p)
}

// mode returns the name of the series of a throttle that enforces.
func mode() string {
	return sample("throttle_mode", "mode", "enforce", "mode_source", "code", "name", "recommendations")
}

func clamped() string { return sample("throttle_priority_clamped_total", "name", "recommendations") }

// open are the calls without an answer.
func open() string { return sample("throttle_slow_open", "name", "recommendations") }

// addDurations adds the series of a histogram of n calls that all took the same time.
func (s scrape) addDurations(p, outcome, errorType string, n int, took time.Duration) {
	labels := []string{"name", "recommendations", "priority", p, "outcome", outcome, "error_type", errorType}
	const name = "throttle_call_duration_seconds"
	s[sample(name+"_count", labels...)] = float64(n)
	s[sample(name+"_sum", labels...)] = float64(n) * took.Seconds()
	for _, le := range []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10, math.Inf(1)} {
		within := 0
		if took.Seconds() <= le {
			within = n
		}
		bound := strconv.FormatFloat(le, 'g', -1, 64)
		s[sample(name+"_bucket", append(labels, "le", bound)...)] = float64(within)
	}
}

// atStart returns the series of a throttle without calls.
func atStart() scrape {
	want := scrape{clamped(): 0, open(): 0, mode(): 1}
	for _, p := range []string{"high", "important", "medium", "low"} {
		want[calls(p, "admitted", "accepted", "", "")] = 0
		want[calls(p, "shed", "shed", "shed", "own")] = 0
		want[calls(p, "shed", "shed", "shed", "above")] = 0
		for _, metric := range []string{"call_active", "rejection_probability_ratio", "window_requests", "window_accepts"} {
			want[gauge(metric, p)] = 0
		}
	}
	return want
}

// countersAfterOverload returns the counters above 0 after overload.
func countersAfterOverload() scrape {
	return scrape{
		calls("high", "admitted", "accepted", "", ""):                        3,
		calls("high", "admitted", "accepted", "missing", ""):                 1,
		calls("high", "admitted", "ignored", "canceled", ""):                 1,
		calls("important", "admitted", "rejected", "availability", ""):       60,
		calls("important", "shed", "shed", "shed", "own"):                    5,
		calls("important", "shadow_shed", "accepted", "", "own"):             1,
		calls("important", "shadow_shed", "rejected", "availability", "own"): 1,
		calls("medium", "admitted", "rejected", "availability", ""):          21,
		calls("medium", "shed", "shed", "shed", "above"):                     4,
		calls("low", "admitted", "accepted", "", ""):                         1,
		fallbacks("medium", "rejected", ""):                                  1,
		fallbacks("important", "shed", ""):                                   2,
		fallbacks("important", "shed", "_OTHER"):                             1,
		clamped():                                                            1,
	}
}

// durationsAfterOverload returns the histograms after overload.
func durationsAfterOverload() scrape {
	want := scrape{}
	want.addDurations("high", "accepted", "", 3, slow)
	want.addDurations("high", "accepted", "missing", 1, slow)
	want.addDurations("high", "ignored", "canceled", 1, slow)
	want.addDurations("important", "rejected", "availability", 61, fast)
	want.addDurations("important", "accepted", "", 1, fast)
	want.addDurations("medium", "rejected", "availability", 21, fast)
	want.addDurations("low", "accepted", "", 1, fast)
	return want
}
