package spillway_test

import (
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	faultkinds "github.com/deixis/faults"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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

// A shop is an application as a user wires it: a throttle, the adapter, the SDK, the exporter and a server with /metrics. Time
// and dice are the test's.
type shop struct {
	t      *testing.T
	now    time.Time
	sheds  bool // whatever may be shed
	meters *sdkmetric.MeterProvider
	traces *sdktrace.TracerProvider
	spans  *tracetest.SpanRecorder
	tel    *otelthrottle.Telemetry
	server *httptest.Server
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, now: time.Unix(1_700_000_000, 0), spans: tracetest.NewSpanRecorder()}
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatalf("exporter: got error %v want nil", err)
	}
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	s.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	s.tel, err = otelthrottle.New(otelthrottle.WithMeterProvider(s.meters), otelthrottle.WithTracerProvider(s.traces))
	if err != nil {
		t.Fatalf("otelthrottle.New: got error %v want nil", err)
	}
	s.server = httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *shop) throttle() *throttle.Throttle {
	return throttle.Must(throttle.New(throttle.Config{
		Name: "recommendations", Hooks: s.tel.Hooks(),
		Now: func() time.Time { return s.now },
		Rand: func() float64 {
			if s.sheds {
				return 0
			}
			return math.Nextafter(1, 0)
		},
	}))
}

// taking is a call that takes so long and ends with err.
func (s *shop) taking(d time.Duration, err error) func(context.Context) error {
	return func(context.Context) error {
		s.now = s.now.Add(d)
		return err
	}
}

// scrape returns what is on the page, after making sure that both formats have the same.
func (s *shop) scrape() scrape {
	s.t.Helper()
	text := parseScrape(s.t, get(s.t, s.server.Client(), s.server.URL, acceptText))
	open := parseScrape(s.t, get(s.t, s.server.Client(), s.server.URL, acceptOpenMetrics))
	for key := range open.of("throttle_call_duration_seconds_bucket") {
		delete(open, key) // 1 is written 1.0 there
	}
	for key := range text {
		if _, ok := open[key]; !ok && !isBucket(key) {
			s.t.Errorf("OpenMetrics: got no %s, which the text format has", key)
		}
	}
	return text
}

func isBucket(key string) bool {
	return len(scrape{key: 0}.of("throttle_call_duration_seconds_bucket")) > 0
}

// The durations are sums of powers of two, so that they can be added up exactly.
const (
	fast = time.Second / 512
	slow = time.Second / 32
)

// overload is the script: what a throttle goes through, ten kinds of calls in all.
func (s *shop) overload(th *throttle.Throttle) {
	s.t.Helper()
	busy := faultkinds.Unavailable(0)
	serves := func(context.Context, error, bool) error { return nil }
	fails := func(context.Context, error, bool) error { return errPlain }
	ctx, request := s.traces.Tracer("shop").Start(s.t.Context(), "request")
	defer request.End()
	do := func(n int, p throttle.Priority, fn func(context.Context) error, fallback ...throttle.Fallback) {
		for range n {
			_ = th.Do(ctx, p, fn, fallback...)
		}
	}
	do(3, throttle.High, s.taking(slow, nil))
	do(1, throttle.High, s.taking(slow, faultkinds.NotFound))
	do(1, throttle.High, s.taking(slow, context.Canceled))
	do(60, throttle.Important, s.taking(fast, busy))
	do(20, throttle.Medium, s.taking(fast, busy))
	do(1, throttle.Medium, s.taking(fast, busy), serves)
	do(1, 99, s.taking(fast, nil))
	s.now = s.now.Add(time.Second)
	s.sheds = true
	do(2, throttle.Important, s.taking(fast, nil))
	do(2, throttle.Important, s.taking(fast, nil), serves)
	do(1, throttle.Important, s.taking(fast, nil), fails)
	do(4, throttle.Medium, s.taking(fast, nil))
	s.tune(th, throttle.ModeShadow)
	do(1, throttle.Important, s.taking(fast, nil))
	do(1, throttle.Important, s.taking(fast, busy))
	s.tune(th, throttle.ModeEnforce)
	if _, err := th.Admit(ctx, throttle.Low); err != nil {
		s.t.Fatalf("Admit: got error %v want nil", err)
	}
}

func (s *shop) tune(th *throttle.Throttle, mode throttle.Mode) {
	s.t.Helper()
	if err := th.Tune(func(u *throttle.Tuning) { u.Mode = mode }); err != nil {
		s.t.Fatalf("Tune: got error %v want nil", err)
	}
}

// calls, fallbacks, present and durations are the names of samples of the shop's throttle.

func calls(p, decision, outcome, errorType, cause string) string {
	return sample("throttle_calls_total", "name", "recommendations", "priority", p, "decision", decision,
		"outcome", outcome, "error_type", errorType, "cause", cause)
}

func fallbacks(p, outcome, errorType string) string {
	return sample("throttle_fallbacks_total", "name", "recommendations", "priority", p, "outcome", outcome, "error_type", errorType)
}

func present(metric, p string) string {
	return sample("throttle_"+metric, "name", "recommendations", "priority", p)
}

// addDurations adds the samples of a histogram of n calls that all took so long.
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
		word := strconv.FormatFloat(le, 'g', -1, 64)
		s[sample(name+"_bucket", append(labels, "le", word)...)] = float64(within)
	}
}

// atStart is what a new throttle shows.
func atStart() scrape {
	want := scrape{sample("throttle_priority_clamped_total", "name", "recommendations"): 0}
	for _, p := range []string{"high", "important", "medium", "low"} {
		want[calls(p, "admitted", "accepted", "", "")] = 0
		want[calls(p, "shed", "shed", "shed", "own")] = 0
		want[calls(p, "shed", "shed", "shed", "above")] = 0
		for _, metric := range []string{"call_active", "rejection_probability_ratio", "window_requests", "window_accepts"} {
			want[present(metric, p)] = 0
		}
	}
	return want
}

// countedAfterOverload is what the counters of a throttle show that has gone through the script.
func countedAfterOverload() scrape {
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
		sample("throttle_priority_clamped_total", "name", "recommendations"): 1,
	}
}

// durationsAfterOverload is what its histogram shows.
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
