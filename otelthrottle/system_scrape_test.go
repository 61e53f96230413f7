package otelthrottle_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
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

// TestExemplarLeadsToTheThrottlesSpanUnderAnother has other hooks start a span inside the throttle's.
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

// promtool returns the path of promtool. Without it the test is skipped, or fails where every tool has to be there.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err == nil {
		return path
	}
	const reason = "needs promtool (package prometheus)"
	if os.Getenv("SPILLWAY_REQUIRE_SERVICES") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}

// TestStrangeNames are valid on a scrape, of which one bad label would spoil the whole, and in
// traces. Names that become the same are one source.
func TestStrangeNames(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	ctx, request := l.request(t.Context())
	for _, s := range systems() {
		for _, n := range strangeNames() {
			s.start(l, manner{name: n.given}).use(ctx)
			s.start(l, manner{name: n.want}).use(ctx)
		}
	}
	request.End()
	got, text, words := l.read(t), e.scrape(t, ""), l.words()
	e.scrape(t, openMetrics)
	for _, s := range systems() {
		wantSeries(t, text, s.family, len(strangeNames()))
		for _, n := range strangeNames() {
			equal(t, s.noun+" with "+n.name, got[s.counter(n.want)], 2)
			equal(t, s.noun+" with "+n.name+", in traces", words[s.key.String(n.want)], 2)
		}
	}
}

// words counts the attributes of spans that have ended, and of their events.
func (l *lab) words() map[attribute.KeyValue]int {
	found := map[attribute.KeyValue]int{}
	for _, span := range l.spans.Ended() {
		all := span.Attributes()
		for _, e := range span.Events() {
			all = append(all, e.Attributes...)
		}
		for _, kv := range all {
			found[kv]++
		}
	}
	return found
}

// TestExemplarsLeadToTheCallersSpans where the adapter makes no span, and nowhere if they are not
// sampled.
func TestExemplarsLeadToTheCallersSpans(t *testing.T) {
	for histogram, use := range map[string]func(context.Context, *lab){
		"throttle_bucket_store_duration_seconds": func(ctx context.Context, l *lab) {
			take(ctx, t, l.limiter(t, bucket.Config{Store: newDoubtfulStore(nil), OneByOne: true}), 1)
		},
		"throttle_backoff_sleep_duration_seconds": func(ctx context.Context, l *lab) { // in this mode each throttled call sleeps
			r := l.backoff(t, backoff.Config{Mode: backoff.Sleep, InitialInterval: time.Millisecond})
			end(ctx, t, r, backoff.ThrottledFor(time.Millisecond), backoff.Success)
		},
	} {
		for want, sampler := range []sdktrace.Sampler{sdktrace.NeverSample(), sdktrace.AlwaysSample()} {
			l, e := newScrapedLab(t, setup{sampler: sampler})
			ctx, request := l.request(t.Context())
			use(ctx, l)
			request.End()
			found := exemplarsOf(histogram, e.scrape(t, openMetrics))
			equal(t, "exemplars of "+histogram, len(found), want)
			for _, x := range found {
				equal(t, "trace_id", x.labels["trace_id"], request.SpanContext().TraceID().String())
				equal(t, "span_id", x.labels["span_id"], request.SpanContext().SpanID().String())
			}
		}
	}
}

func TestPromtoolHasNoComplaint(t *testing.T) {
	tool := promtool(t)
	for name, options := range map[string][]otelprometheus.Option{
		"default":                  nil,
		"without scope and target": {otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo()},
		"with a namespace":         {otelprometheus.WithNamespace("acme")},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, options...)
			everyKind(t, newLab(t, setup{options: detailed(), meters: []sdkmetric.Option{sdkmetric.WithReader(e.exporter)}}), throttle.Config{Name: "db"})
			check := exec.CommandContext(t.Context(), tool, "check", "metrics")
			check.Stdin = strings.NewReader(e.scrape(t, ""))
			if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
				t.Errorf("promtool: got %q, error %v want nothing", said, err)
			}
		})
	}
}
