package otelthrottle_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// request starts a span of the application, as a server's instrumentation would.
func (l *lab) request(ctx context.Context) (context.Context, trace.Span) {
	return l.tracer.Start(ctx, "request")
}

func (l *lab) spanNamed(t testing.TB, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, s := range l.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("ended spans called %q: got %d want 1", name, len(found))
	}
	return found[0]
}

// wantSpans fails the test unless these spans have ended, in any order, and none is open.
func (l *lab) wantSpans(t testing.TB, names ...string) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, s := range l.spans.Ended() {
		got[s.Name()]++
	}
	for _, name := range names {
		want[name]++
	}
	if !maps.Equal(got, want) {
		t.Errorf("spans that have ended: got %v want %v", got, want)
	}
	equal(t, "spans that have started", len(l.spans.Started()), len(names))
}

// wantAttributes fails the test unless these attributes, given as alternating keys and values, are the only ones.
func wantAttributes(t testing.TB, what string, got []attribute.KeyValue, pairs ...any) {
	t.Helper()
	var want []attribute.KeyValue
	for i := 0; i+1 < len(pairs); i += 2 {
		key := pairs[i].(string)
		switch value := pairs[i+1].(type) {
		case string:
			want = append(want, attribute.String(key, value))
		case float64:
			want = append(want, attribute.Float64(key, value))
		case bool:
			want = append(want, attribute.Bool(key, value))
		case int:
			want = append(want, attribute.Int(key, value))
		default:
			t.Fatalf("attribute %s has a value of type %T", key, value)
		}
	}
	gotSet, wantSet := attribute.NewSet(append([]attribute.KeyValue(nil), got...)...), attribute.NewSet(want...)
	if gotSet != wantSet {
		t.Errorf("attributes of %s:\ngot  %s\nwant %s", what,
			gotSet.Encoded(attribute.DefaultEncoder()), wantSet.Encoded(attribute.DefaultEncoder()))
	}
}

type samplerFunc func(sdktrace.SamplingParameters) sdktrace.SamplingDecision

func (f samplerFunc) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: f(p), Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
}

func (samplerFunc) Description() string { return "a function of the test's" }

// survive runs f on a goroutine of its own, and returns what it panicked with, if it did.
func survive(f func()) (panicked any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
	}()
	<-done
	return panicked
}

func neverAsked(t testing.TB) otelthrottle.Option {
	return otelthrottle.WithFilter(func(_ context.Context, name string, p throttle.Priority) bool {
		t.Errorf("filter: got asked about %s of %q", p, name)
		return false
	})
}

// strangeName is a name that a user gives, and what is shown of it.
type strangeName struct{ name, given, want string }

func strangeNames() []strangeName {
	return []strangeName{
		{"spaces", "my orders db", "my orders db"},
		{"quotes and braces", `"a" 'b' {c="d"} \n`, `"a" 'b' {c="d"} \n`},
		{"lines", "a\nb\rc\td", "a\nb\rc\td"},
		{"zero byte", "a\x00b", "a\x00b"},
		{"other letters", "заказы 注文 🧨", "заказы 注文 🧨"},
		{"not UTF-8", "a\xffb\xc3\x28", "a\uFFFDb\uFFFD("},
		{"only not UTF-8", "\xff\xfe", "\uFFFD"},
		{"as long as can be", strings.Repeat("x", 255), strings.Repeat("x", 255)},
	}
}

// wantEvents fails the test unless the span of the caller has one event of this name, up to its first space, and with these
// attributes; or no event at all if want is nil.
func (l *lab) wantEvents(t *testing.T, name string, want []any) {
	t.Helper()
	name, _, _ = strings.Cut(name, " ")
	events := l.spanNamed(t, "request").Events()
	if want == nil {
		equal(t, "events", len(events), 0)
		return
	}
	if len(events) != 1 || events[0].Name != name {
		t.Fatalf("events: got %v want one %s", events, name)
	}
	wantAttributes(t, "event", events[0].Attributes, want...)
}
