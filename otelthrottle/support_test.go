package otelthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deixis/faults"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

// errBusy is the answer of a backend that is out of capacity, errPlain that of one that works.
var (
	errBusy  = faults.Unavailable(0)
	errPlain = errors.New("no such product")
)

func succeed(context.Context) error { return nil }

// returns is a function that does nothing but return err.
func returns(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// die is a Config.Rand that falls as the test says: to the side that sheds wherever there is a probability, or, as a
// fresh one does, to the side that admits.
type die struct{ sheds atomic.Bool }

func (d *die) throw() float64 {
	if d.sheds.Load() {
		return 0
	}
	return math.Nextafter(1, 0)
}

// setup says how a lab differs from what a user gets without options.
type setup struct {
	options []otelthrottle.Option
	sampler sdktrace.Sampler
	reader  []sdkmetric.ManualReaderOption
	meters  []sdkmetric.Option
}

// lab is a Telemetry with an SDK that keeps everything, and a clock and dice for throttles that the test sets.
type lab struct {
	*throttletest.Clock
	die
	tel    *otelthrottle.Telemetry
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
	meters *sdkmetric.MeterProvider
	traces *sdktrace.TracerProvider
	tracer trace.Tracer // the application's
}

func newLab(t testing.TB, s setup) *lab {
	t.Helper()
	if s.sampler == nil {
		s.sampler = sdktrace.AlwaysSample()
	}
	l := &lab{
		Clock: throttletest.NewClock(time.Unix(0, 0)), reader: sdkmetric.NewManualReader(s.reader...), spans: tracetest.NewSpanRecorder(),
	}
	l.meters = sdkmetric.NewMeterProvider(append(s.meters, sdkmetric.WithReader(l.reader))...)
	l.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans), sdktrace.WithSampler(s.sampler))
	l.tracer = l.traces.Tracer("application")
	l.tel = newTelemetry(t, append([]otelthrottle.Option{
		otelthrottle.WithMeterProvider(l.meters), otelthrottle.WithTracerProvider(l.traces),
	}, s.options...)...)
	return l
}

func newTelemetry(t testing.TB, options ...otelthrottle.Option) *otelthrottle.Telemetry {
	t.Helper()
	tel, err := otelthrottle.New(options...)
	if err != nil {
		t.Fatalf("New: got error %v want nil", err)
	}
	return tel
}

// throttle returns a throttle with the lab's clock and dice, watched by the adapter and by the hooks in c.
func (l *lab) throttle(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Now, c.Rand = l.Now, l.throw
	c.Hooks = throttle.JoinHooks(l.tel.Hooks(), c.Hooks)
	th, err := throttle.New(c)
	if err != nil {
		t.Fatalf("throttle.New: got error %v want nil", err)
	}
	return th
}

// reject lets the backend reject n calls of priority p and advances the clock, so that the next decision uses them: with no other calls
// of this priority or above, the probability of shedding is then n/(n+60).
func (l *lab) reject(t testing.TB, th *throttle.Throttle, p throttle.Priority, n int) {
	t.Helper()
	before := l.sheds.Swap(false)
	for range n {
		if err := th.Do(context.Background(), p, returns(errBusy)); !errors.Is(err, errBusy) {
			t.Fatalf("a call for the backend to reject: got %v want %v", err, errBusy)
		}
	}
	l.sheds.Store(before)
	l.Advance(time.Second)
}

// shed makes n calls of priority p of which every one must be shed.
func (l *lab) shed(ctx context.Context, t testing.TB, th *throttle.Throttle, p throttle.Priority, n int) {
	t.Helper()
	before := l.sheds.Swap(true)
	for range n {
		if err := th.Do(ctx, p, succeed); !errors.Is(err, throttle.ErrShed) {
			t.Fatalf("a call to be shed: got %v want %v", err, throttle.ErrShed)
		}
	}
	l.sheds.Store(before)
}

// times makes n calls of priority p that end with err.
func times(n int, th *throttle.Throttle, p throttle.Priority, err error) {
	for range n {
		_ = th.Do(context.Background(), p, returns(err))
	}
}

// snapshot is one collection: the value of every series, the count for those of a histogram.
type snapshot map[string]float64

// series is the name of a series in a snapshot: of a metric, and attributes given as alternating keys and values.
func series(metric string, pairs ...string) string {
	var kv []attribute.KeyValue
	for i := 0; i+1 < len(pairs); i += 2 {
		kv = append(kv, attribute.String(pairs[i], pairs[i+1]))
	}
	return otelthrottle.Series(metric, attribute.NewSet(kv...))
}

// collect returns what the reader's scope of this package holds.
func collect(t testing.TB, reader sdkmetric.Reader) []metricdata.Metrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		t.Fatalf("Collect: got error %v want nil", err)
	}
	return ours(&rm)
}

func ours(rm *metricdata.ResourceMetrics) (found []metricdata.Metrics) {
	for _, scope := range rm.ScopeMetrics {
		if scope.Scope.Name == otelthrottle.ScopeName {
			found = append(found, scope.Metrics...)
		}
	}
	return found
}

func (l *lab) read(t testing.TB) snapshot {
	t.Helper()
	return read(t, l.reader)
}

func read(t testing.TB, reader sdkmetric.Reader) snapshot {
	t.Helper()
	s := snapshot{}
	for key, value := range otelthrottle.SeriesOf(t, collect(t, reader)) {
		switch value := value.(type) {
		case int64:
			s[key] = float64(value)
		case float64:
			s[key] = value
		}
	}
	return s
}

func (s snapshot) of(metrics ...string) snapshot {
	some := snapshot{}
	for key, value := range s {
		if name, _, _ := strings.Cut(key, "{"); slices.Contains(metrics, name) {
			some[key] = value
		}
	}
	return some
}

// with adds up the series whose name has a part in it.
func (s snapshot) with(part string) float64 {
	sum := 0.0
	for key, value := range s {
		if strings.Contains(key, part) {
			sum += value
		}
	}
	return sum
}

func (s snapshot) positive() snapshot {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(_ string, value float64) bool { return value == 0 })
	return some
}

// want fails the test unless the snapshot is this one.
func (s snapshot) want(t testing.TB, want snapshot) {
	t.Helper()
	all := maps.Clone(s)
	maps.Copy(all, want)
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		got, isThere := s[key]
		wanted, isWanted := want[key]
		switch {
		case !isWanted:
			wrong = append(wrong, fmt.Sprintf("got %s %v want no such series", key, got))
		case !isThere:
			wrong = append(wrong, fmt.Sprintf("got no %s want %v", key, wanted))
		case got != wanted:
			wrong = append(wrong, fmt.Sprintf("got %s %v want %v", key, got, wanted))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("series:\n%s", strings.Join(wrong, "\n"))
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}
