package otelthrottle_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/bucket"
)

// TestExemplars lead to the span of the throttle. Where there is none, they lead to that of the caller.
func TestExemplars(t *testing.T) {
	call := func(ctx context.Context, l *lab) {
		_ = l.throttle(t, throttle.Config{Name: "db"}).Do(ctx, throttle.High, succeed)
	}
	with := func(options ...otelthrottle.Option) setup { return setup{options: options} }
	for _, tt := range []struct {
		name  string
		setup setup
		use   func(context.Context, *lab)
		want  string // the span
	}{
		{"a call", setup{}, call, "throttle db"},
		{"a call without a parent", with(otelthrottle.WithRootSpans()), func(_ context.Context, l *lab) { call(t.Context(), l) }, "throttle db"},
		{"a call, filtered", with(keepOnly("none")), call, "request"},
		{"a call without spans", with(otelthrottle.WithoutSpans()), call, "request"},
		{"a call whose own span is dropped", setup{sampler: dropping("throttle db")}, call, ""},
		{"a call whose other hooks start a span inside", setup{}, func(ctx context.Context, l *lab) {
			inside := throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
				ctx, span := l.tracer.Start(ctx, "inside")
				span.End()
				return ctx
			}}
			_ = l.throttle(t, throttle.Config{Name: "db", Hooks: inside}).Do(ctx, throttle.High, succeed)
		}, "throttle db"},
		{"a store call", setup{}, func(ctx context.Context, l *lab) {
			take(ctx, t, l.limiter(t, bucket.Config{Store: newDoubtfulStore(nil), OneByOne: true}), 1)
		}, "request"},
		{"a sleep", setup{}, func(ctx context.Context, l *lab) {
			r := l.backoff(t, backoff.Config{Mode: backoff.Sleep, InitialInterval: time.Millisecond})
			end(ctx, t, r, backoff.ThrottledFor(time.Millisecond), backoff.Success)
		}, "request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.setup)
			ctx, request := l.request(t.Context())
			tt.use(ctx, l)
			request.End()
			got := ""
			for _, m := range collect(t, l.reader) {
				if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
					for _, x := range h.DataPoints[0].Exemplars {
						got += l.spanOf(t, x.SpanID)
					}
				}
			}
			equal(t, "spans of exemplars", got, tt.want)
		})
	}
}

func (l *lab) spanOf(t *testing.T, id []byte) string {
	t.Helper()
	for _, s := range l.spans.Ended() {
		if got := s.SpanContext().SpanID(); slices.Equal(got[:], id) {
			return s.Name()
		}
	}
	t.Errorf("got no span %x", id)
	return ""
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

func TestPromtoolHasNoComplaint(t *testing.T) {
	tool := promtool(t)
	l, e := newScrapedLab(t, setup{options: detailed()})
	everyKind(t, l, throttle.Config{Name: "db"})
	check := exec.CommandContext(t.Context(), tool, "check", "metrics")
	check.Stdin = strings.NewReader(e.scrape(t, ""))
	if said, err := check.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool: got %q, error %v want nothing", said, err)
	}
}
