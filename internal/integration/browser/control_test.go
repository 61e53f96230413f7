package browser

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/control"
)

// A witness sees changes of settings in all ways there are: hooks, the log, metrics and spans.
type witness struct {
	mu      sync.Mutex
	changes []string
	log     bytes.Buffer
	metrics *sdkmetric.ManualReader
	spans   *tracetest.InMemoryExporter
}

// Write writes to the log.
func (w *witness) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(text)
}

// watched returns a Control, its handler inside a span of each request, and a witness of both.
func watched(t *testing.T) (*control.Control, http.Handler, *witness) {
	t.Helper()
	w := &witness{metrics: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	tel := throttle.Must(otelthrottle.New(otelthrottle.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.metrics)))))
	own := control.Hooks{Tuned: func(_ context.Context, e control.TunedEvent) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes = append(w.changes, fmt.Sprint(e.Name, " ", e.Result, " ", e.Values, " ", e.Source, " ", e.By, " ", e.Reason))
	}}
	ctl := throttle.Must(control.New(control.Config{Hooks: control.JoinHooks(own, tel.ControlHooks(), control.LogHooks(slog.New(slog.NewTextHandler(w, nil))))}))
	t.Cleanup(func() { _ = ctl.Close() })
	handler := throttle.Must(ctl.Handler(func(*http.Request) (string, error) { return "ana", nil }))
	return ctl, otelhttp.NewHandler(handler, "control", otelhttp.WithTracerProvider(tracers)), w
}

// events returns the events of spans, each with its attributes.
func (w *witness) events() (all []string) {
	for _, s := range w.spans.GetSpans() {
		for _, e := range s.Events {
			text := e.Name
			for _, a := range e.Attributes {
				text += " " + a.Value.String()
			}
			all = append(all, text)
		}
	}
	return all
}

// tunings returns the counters of changes over HTTP, by result.
func (w *witness) tunings(t *testing.T) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name != semconv.MetricTunings {
			continue
		}
		for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
			if source, _ := point.Attributes.Value(semconv.KeyTuningSource); source.AsString() == "http" {
				result, _ := point.Attributes.Value(semconv.KeyTuningResult)
				counts[result.AsString()] = point.Value
			}
		}
	}
	return counts
}

// TestStatusz_Control switches a throttle off on the page, for a time and with a reason. It comes back by itself. The
// page, the hook, the log, the metric and the span say who did it and why.
func TestStatusz_Control(t *testing.T) {
	held := 2 * time.Second
	if !testing.Short() {
		held = time.Minute
	}
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	ctl, handler, seen := watched(t)
	page.Control(handler)
	hooks := throttle.JoinHooks(page.Hooks(), ctl.ThrottleHooks())
	th := throttle.Must(throttle.New(throttle.Config{Name: "orders", Hooks: hooks}))
	for range 2000 {
		_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
	}
	_ = throttle.Must(throttle.New(throttle.Config{Name: hostile, Hooks: hooks}))
	shed := func() bool {
		n := th.Stats().Priorities[throttle.Low].Shed.Sum()
		for range 100 {
			_ = th.Do(t.Context(), throttle.Low, func(context.Context) error { return context.DeadlineExceeded })
		}
		return th.Stats().Priorities[throttle.Low].Shed.Sum() > n
	}
	if !shed() {
		t.Fatal("at first: got no shed call")
	}

	p.open(url + "?q=orders&sort=name")
	p.eventually("the throttle is there", live+` && document.querySelectorAll(".card:not([hidden])").length === 1`)
	const card = `.card:not([hidden]) `
	p.do("open its details", chromedp.Click(card+".more"))
	p.eventually("the details have controls", `document.querySelector(".card:not([hidden]) .control:not([hidden])") !== null`)
	p.do("send a wrong ratio", chromedp.SendKeys(card+"[name=ratio]", "0.5"), chromedp.SendKeys(card+"[name=reason]", hostile), chromedp.Click(card+".control [type=submit]"))
	p.eventually("the error names the field and the range", `document.querySelector(".control .result").textContent.includes("Patch.Ratio is 0.5: want more than 1")`)
	p.clearProblems() // the console has the status 422, as expected

	p.do("switch it off", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=ratio]").value = "";
		document.querySelector(".control [name=for]").value = "10m"; document.querySelector(".control [name=mode]").value = "off"`),
		chromedp.Click(card+".control [type=submit]"))
	p.eventually("the page shows who, why and until when", `/^mode off \(code: enforce\), by ana, over http, until \d\d:\d\d:\d\d: <img/.test(document.querySelector(".card:not([hidden]) .overrides").textContent)`)
	p.eventually("and the mode", `document.querySelector(".card:not([hidden]) .badges").textContent.includes("off")`)
	if shed() {
		t.Error("off: got a shed call")
	}
	checkLayout(t, p)
	begun := time.Now() // before the change, so it holds until held later at least
	p.do("make that shorter, with the mode as it is", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(".control [name=mode]").value = "";
		document.querySelector(".control [name=for]").value = %q`, held)), chromedp.Click(card+".control [type=submit]"))
	time.Sleep(held - time.Second) // it is the clock of a real page
	if early := shed(); early && time.Since(begun) < held {
		t.Error("off, before its end: got a shed call")
	}
	p.eventually("it comes back by itself", `document.querySelector(".card:not([hidden]) .overrides").textContent === "" && document.querySelector(".card:not([hidden]) .badges").textContent.includes("enforce")`)

	p.do("switch it to shadow", chromedp.Evaluate[chromedp.Void](`document.querySelector(".control [name=for]").value = "10h";
		document.querySelector(".control [name=mode]").value = "shadow"`), chromedp.Click(card+".control [type=submit]"))
	p.eventually("the button that ends it is there", `[...document.querySelectorAll(".card:not([hidden]) .control .button")].some((b) => b.textContent === "End" && !b.hidden)`)
	p.do("end it", chromedp.Click(card+".control [type=button]"))
	p.eventually("it is ended", `document.querySelector(".card:not([hidden]) .overrides").textContent === ""`)
	seen.want(t)
}

// want fails unless a wrong ratio, off for a time, and shadow until its end were seen.
func (w *witness) want(t *testing.T) {
	t.Helper()
	counts := w.tunings(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	want := []string{
		"orders applied [{mode enforce off}] http ana " + hostile, "orders applied [] http ana " + hostile,
		"orders ended [{mode off enforce}] http ana " + hostile,
		"orders applied [{mode enforce shadow}] http ana " + hostile, "orders ended [{mode shadow enforce}] http ana " + hostile,
	}
	if fmt.Sprintf("%q", w.changes) != fmt.Sprintf("%q", want) {
		t.Errorf("hooks: got %q want %q", w.changes, want)
	}
	lines := w.log.String()
	for _, line := range []string{
		`level=ERROR msg="control: change is refused, earlier settings stay" source=http`, `level=WARN msg="throttle is tuned" throttle=orders values="mode: enforce -> off" source=http by=ana reason=`,
		`level=INFO msg="throttle is no longer tuned" throttle=orders values="mode: off -> enforce" source=http by=ana reason=`,
	} {
		if !strings.Contains(lines, line) {
			t.Errorf("log: got\n%s\nwant %s", lines, line)
		}
	}
	if counts["applied"] != 3 || counts["ended"] != 2 || counts["refused"] != 1 {
		t.Errorf("%s: got %v want 3 applied, 2 ended and 1 refused", semconv.MetricTunings, counts)
	}
	if got, off := w.events(), "throttle.tuned"+" throttle orders http applied mode=off ana "+hostile; len(got) != 4 || got[0] != off {
		t.Errorf("span events: got %q want %q first, and one for each request that changed something", got, off)
	}
}

// TestStatusz_WithoutControl has no controls, and asks for none.
func TestStatusz_WithoutControl(t *testing.T) {
	p := newTab(t, 1200, 900)
	page, url := debug(t)
	_ = throttle.Must(throttle.New(throttle.Config{Name: "orders", Hooks: page.Hooks()}))
	p.open(url)
	p.eventually("the throttle is there", live+` && document.querySelectorAll(".card").length === 1`)
	p.do("open its details", chromedp.Click(".card .more"))
	p.eventually("the details have no controls", `document.querySelector(".details") !== null && document.querySelector(".control") === null`)
}
