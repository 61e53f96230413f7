package otelthrottle_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deixis/faults"
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

// TestScrape_overload makes calls of every decision, outcome and kind of fallback, and compares what is not 0 on the page that
// Prometheus scrapes. The probabilities are those of the formula without accepted calls: 67 / (67 + 60), and with the calls of
// Medium 92 / (92 + 60).
func TestScrape_overload(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	th := l.throttle(t, throttle.Config{Name: "db", Policy: throttle.SRE})
	ends := func(err error) throttle.Fallback { return func(context.Context, error, bool) error { return err } }
	mode := func(m throttle.Mode) {
		if err := th.Tune(throttle.Patch{Mode: &m}); err != nil {
			t.Fatal(err)
		}
	}
	times(3, th, throttle.High, nil)
	times(1, th, throttle.High, faults.NotFound)
	times(1, th, throttle.High, context.Canceled)
	times(1, th, 99, nil)
	l.reject(t, th, throttle.Important, 60)
	l.reject(t, th, throttle.Medium, 20)
	_ = th.Do(t.Context(), throttle.Medium, returns(errBusy), ends(nil))
	l.shed(t.Context(), t, th, throttle.Important, 2)
	l.shed(t.Context(), t, th, throttle.Medium, 4)
	l.sheds.Store(true)
	_ = th.Do(t.Context(), throttle.Important, succeed, ends(nil))
	_ = th.Do(t.Context(), throttle.Important, succeed, ends(errPlain))
	mode(throttle.ModeShadow)
	times(2, th, throttle.Important, nil)
	times(1, th, throttle.Important, errBusy)
	mode(throttle.ModeEnforce)
	stream := throttle.Must(th.Admit(t.Context(), throttle.High))
	stream.Answered(nil) // in flight, but not open
	throttle.Must(th.Admit(t.Context(), throttle.Low))
	got := pageOf(e.scrape(t, ""))
	want, err := os.ReadFile("testdata/scrape_overload.txt")
	if err != nil || got != string(want) {
		t.Errorf("got\n%s\nwant testdata/scrape_overload.txt (%v)", got, err)
	}
}

// pageOf returns the series of a page that are not 0, without buckets and without what names this package.
func pageOf(text string) string {
	ours := fmt.Sprintf("otel_scope_name=%q,otel_scope_schema_url=\"\",otel_scope_version=%q,", otelthrottle.ScopeName, otelthrottle.Version)
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "throttle_") && !strings.HasSuffix(line, " 0\n") && !strings.Contains(line, "_bucket{") {
			kept.WriteString(strings.Replace(line, ours, "", 1))
		}
	}
	return kept.String()
}
