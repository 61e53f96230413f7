package otelthrottle_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// taking is a function that takes so long, by the lab's clock, and returns err.
func (l *lab) taking(d time.Duration, err error) func(context.Context) error {
	return func(context.Context) error {
		l.advance(d)
		return err
	}
}

// TestExemplarsLeadToTheThrottlesSpans makes a call for each of several buckets.
func TestExemplarsLeadToTheThrottlesSpans(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db"})
	calls := []struct {
		took  time.Duration
		le    string
		value string
		err   error
	}{
		{2 * time.Millisecond, "0.0025", "0.002", nil},
		{40 * time.Millisecond, "0.05", "0.04", errPlain},
		{3 * time.Second, "5.0", "3.0", nil},
	}
	for _, c := range calls {
		ctx, request := l.request(t.Context())
		_ = th.Do(ctx, throttle.High, l.taking(c.took, c.err))
		request.End()
	}
	byLe := map[string]exemplar{}
	for _, x := range exemplars(e.scrape(t, openMetrics)) {
		byLe[x.le] = x
	}
	equal(t, "exemplars", len(byLe), len(calls))
	var own []sdktrace.ReadOnlySpan
	for _, s := range l.spans.Ended() {
		if s.Name() == "throttle db" {
			own = append(own, s)
		}
	}
	for i, c := range calls {
		got, span := byLe[c.le], own[i].SpanContext()
		equal(t, "value in bucket "+c.le, got.value, c.value)
		equal(t, "trace_id in bucket "+c.le, got.labels["trace_id"], span.TraceID().String())
		equal(t, "span_id in bucket "+c.le, got.labels["span_id"], span.SpanID().String())
		equal(t, "labels in bucket "+c.le, len(got.labels), 2)
	}
	if text := e.scrape(t, ""); strings.Contains(text, "trace_id") {
		t.Error("got exemplars in the text format, which has none")
	}
}

// TestExemplarLeadsToTheThrottlesSpanUnderAnother puts a span of somebody else's hooks on top of the throttle's.
func TestExemplarLeadsToTheThrottlesSpanUnderAnother(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	other := throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
		ctx, _ = l.request(ctx)
		return ctx
	}}
	th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: throttle.JoinHooks(l.tel.Hooks(), other)}))
	ctx, request := l.request(t.Context())
	_ = th.Do(ctx, throttle.High, func(context.Context) error { return nil })
	request.End()
	own := l.spanNamed(t, "throttle db").SpanContext()
	equal(t, "span_id", exemplars(e.scrape(t, openMetrics))[0].labels["span_id"], own.SpanID().String())
}

// TestExemplarNeedsASampledSpan makes one call in several surroundings.
func TestExemplarNeedsASampledSpan(t *testing.T) {
	tests := []struct {
		name  string
		setup setup
		span  bool
		want  string // the span that the exemplar leads to
	}{
		{"no span", setup{}, false, ""},
		{"root span", setup{options: []otelthrottle.Option{otelthrottle.WithRootSpans()}}, false, "throttle db"},
		{"unsampled", setup{sampler: sdktrace.NeverSample()}, true, ""},
		{"sampled", setup{}, true, "throttle db"},
		{"sampled, filtered", setup{options: []otelthrottle.Option{keepOnly("none")}}, true, "request"},
		{"sampled, without spans", setup{options: []otelthrottle.Option{otelthrottle.WithoutSpans()}}, true, "request"},
		{"sampled, own span dropped", setup{sampler: dropping("throttle db")}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, e := newScrapedLab(t, tt.setup)
			th := l.throttle(t, throttle.Config{Name: "db"})
			ctx := t.Context()
			if tt.span {
				spanCtx, request := l.request(ctx)
				defer request.End()
				ctx = spanCtx
			}
			_ = th.Do(ctx, throttle.High, succeed)
			found := exemplars(e.scrape(t, openMetrics))
			if tt.want == "" {
				equal(t, "exemplars", len(found), 0)
				return
			}
			equal(t, "exemplars", len(found), 1)
			for _, s := range l.spans.Started() {
				if s.Name() == tt.want {
					equal(t, "span_id", found[0].labels["span_id"], s.SpanContext().SpanID().String())
				}
			}
		})
	}
}

// TestPlainHandlerShowsNoExemplars is why the package comment asks for EnableOpenMetrics.
func TestPlainHandlerShowsNoExemplars(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatalf("exporter: got error %v want nil", err)
	}
	l := newLab(t, setup{meters: []sdkmetric.Option{sdkmetric.WithReader(exporter)}})
	th := l.throttle(t, throttle.Config{Name: "db"})
	ctx, _ := l.request(t.Context())
	_ = th.Do(ctx, throttle.High, succeed)
	for _, enabled := range []bool{false, true} {
		e := &endpoint{server: httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: enabled}))}
		defer e.server.Close()
		equal(t, "exemplars", len(exemplars(e.scrape(t, openMetrics))) > 0, enabled)
	}
}

// errorLog takes the errors that OpenTelemetry handles while a test runs.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (e *errorLog) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = append(e.errs, err)
}

func newErrorLog(t testing.TB) *errorLog {
	t.Helper()
	e := &errorLog{}
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(e)
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	return e
}

func (e *errorLog) mentions(part string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, err := range e.errs {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

// TestDroppedAttributesCrowdExemplars drops attributes of the histogram by a View. They become labels of exemplars, which
// may have 128 runes: dropping error.type leaves room, dropping all that can be dropped does not.
func TestDroppedAttributesCrowdExemplars(t *testing.T) {
	tests := []struct {
		name    string
		dropped []attribute.Key
		want    int // exemplars
	}{
		{"nothing", nil, 1},
		{"error.type", []attribute.Key{otelthrottle.KeyErrorType}, 1},
		{"error.type and priority", []attribute.Key{otelthrottle.KeyErrorType, otelthrottle.KeyPriority}, 1},
		{"all but the name", []attribute.Key{otelthrottle.KeyErrorType, otelthrottle.KeyPriority, otelthrottle.KeyOutcome}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			errs := newErrorLog(t)
			l, e := newScrapedLab(t, setup{meters: []sdkmetric.Option{sdkmetric.WithView(sdkmetric.NewView(
				sdkmetric.Instrument{Name: otelthrottle.MetricCallDuration},
				sdkmetric.Stream{AttributeFilter: attribute.NewDenyKeysFilter(tt.dropped...)},
			))}})
			th := l.throttle(t, throttle.Config{Name: "db"})
			ctx, _ := l.request(t.Context())
			_ = th.Do(ctx, throttle.High, returns(errBusy))
			found := exemplars(e.scrape(t, openMetrics))
			equal(t, "exemplars", len(found), tt.want)
			if tt.want > 0 {
				equal(t, "labels", len(found[0].labels), 2+len(tt.dropped))
			}
			equal(t, "error about the length", errs.mentions("exceeding the limit of 128"), tt.want == 0)
		})
	}
}
