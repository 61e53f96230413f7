package otelthrottle_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// everyOwnKey has a value of the user's for every key that series and spans have.
func everyOwnKey(t *testing.T) []attribute.KeyValue {
	mine := []attribute.KeyValue{semconv.KeyProbability.String("mine"), attribute.String("throttle.bucket.source", "mine")}
	for _, row := range metricRows(t) {
		for _, key := range strings.FieldsFunc(row[4], func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
			mine = append(mine, attribute.String(key, "mine"))
		}
	}
	return mine
}

// TestAttributesWithoutAKeyAreAnError that says whose they are, instead of a label that no exporter can write.
func TestAttributesWithoutAKeyAreAnError(t *testing.T) {
	tel, err := otelthrottle.New(
		otelthrottle.WithAttributes(attribute.String("zone", "b")),
		otelthrottle.WithAttributes(attribute.String("app", "shop"), attribute.String("", "red")),
	)
	if want := "otelthrottle: WithAttributes: attribute 3 of 3 has no key"; tel != nil || err == nil || err.Error() != want {
		t.Errorf("New: got %v and error %v want nil and %s", tel, err, want)
	}
}

// TestNilOptionsChangeNothing gives nil where something could be.
func TestNilOptionsChangeNothing(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{
		nil, otelthrottle.WithMeterProvider(nil), otelthrottle.WithTracerProvider(nil), otelthrottle.WithAttributes(),
		otelthrottle.WithFilter(nil), otelthrottle.WithSpanNameFormatter(nil),
	}})
	th := l.throttle(t, throttle.Config{Name: "db"})
	ctx, request := l.request(t.Context())
	_ = th.Do(ctx, throttle.High, succeed)
	request.End()
	equal(t, "accepted", l.read(t)[accepted(throttle.High)], 1)
	l.wantSpans(t, "throttle db", "request")
}

// TestOptions_ranges wants errors that name the option and what it was given.
func TestOptions_ranges(t *testing.T) {
	for want, o := range map[string]otelthrottle.Option{
		"WithBreakerDetail(-1): want 0":   otelthrottle.WithBreakerDetail(-1),
		"WithBreakerDetail(1001): want 0": otelthrottle.WithBreakerDetail(1001),
		"WithGroupDetail(-1): want 0":     otelthrottle.WithGroupDetail(-1),
		"WithGroupDetail(101): want 0":    otelthrottle.WithGroupDetail(101),
		"WithObjective(1, ":               otelthrottle.WithObjective(1, 0),
		"WithObjective(99.9":              otelthrottle.WithObjective(99.9, 0),
		"WithObjective(-0.1":              otelthrottle.WithObjective(-0.1, 0),
		"WithObjective(0.9, -1":           otelthrottle.WithObjective(0.9, -1),
	} {
		if _, err := otelthrottle.New(o); err == nil || !strings.HasPrefix(err.Error(), "otelthrottle: "+want) {
			t.Errorf("New: got error %v want otelthrottle: %s", err, want)
		}
	}
	for _, o := range []otelthrottle.Option{
		otelthrottle.WithBreakerDetail(0), otelthrottle.WithBreakerDetail(1000), otelthrottle.WithGroupDetail(0), otelthrottle.WithGroupDetail(100),
	} {
		newTelemetry(t, o)
	}
}

// TestAttributesOfTheUsers are on both signals, and the slice of the user is left alone.
func TestAttributesOfTheUsers(t *testing.T) {
	mine := []attribute.KeyValue{attribute.String("zone", "b"), attribute.String("throttle.name", "mine"), attribute.String("app", "shop")}
	l := newLab(t, setup{options: []otelthrottle.Option{
		otelthrottle.WithAttributes(mine...), otelthrottle.WithAttributes(attribute.String("team", "red")),
	}})
	equal(t, "the slice of the user", mine[1].Value.AsString()+" "+mine[2].Value.AsString(), "mine shop")
	mine[0] = attribute.String("zone", "changed")
	ctx, request := l.request(t.Context())
	_ = l.throttle(t, throttle.Config{Name: "db"}).Do(ctx, throttle.High, succeed)
	request.End()

	common := []string{"zone", "b", "app", "shop", "team", "red", "throttle.name", "db", "throttle.priority", "high", "throttle.outcome", "accepted"}
	got := l.read(t)
	equal(t, "calls", got[series(semconv.MetricCalls, append(common, "throttle.decision", "admitted")...)], 1)
	equal(t, "durations", got[series(semconv.MetricCallDuration, common...)], 1)
	wantAttributes(t, "the span", l.spanNamed(t, "throttle db").Attributes(), "zone", "b", "app", "shop", "team", "red", "throttle.name", "db",
		"throttle.priority", "high", "throttle.decision", "admitted", "throttle.rejection_probability", 0.0, "throttle.outcome", "accepted")
}

// TestKeysOfTheSchemaAreNotTheUsers gives all of them: a success that had an error.type, because
// every series has, would look like a failure. Other keys of the user are on every series.
func TestKeysOfTheSchemaAreNotTheUsers(t *testing.T) {
	var shown []string
	for _, mine := range [][]attribute.KeyValue{nil, everyOwnKey(t)} {
		zone := otelthrottle.WithAttributes(attribute.String("zone", "b"))
		l := newLab(t, setup{options: append(detailed(), zone, otelthrottle.WithAttributes(mine...))})
		everyKind(t, l, throttle.Config{Name: "db"})
		ctx, request := l.request(t.Context())
		_ = l.throttle(t, throttle.Config{Name: "db"}).Do(ctx, throttle.High, succeed)
		request.End()
		keys := slices.Sorted(maps.Keys(l.read(t)))
		for _, key := range keys {
			equal(t, "attribute of the user on "+key, strings.Contains(key, "zone=b"), true)
		}
		shown = append(shown, strings.Join(keys, "\n"))
		for _, kv := range l.spanNamed(t, "throttle db").Attributes() {
			if kv.Value.AsString() == "mine" || kv.Key == semconv.KeyErrorType {
				t.Errorf("attribute of a call that succeeded: got %s %q", kv.Key, kv.Value.AsString())
			}
		}
	}
	equal(t, "series", shown[1], shown[0])
}
