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

// TestOptions_ranges wants errors that name the option and its value. A nil value changes nothing.
func TestOptions_ranges(t *testing.T) {
	for want, o := range map[string]otelthrottle.Option{
		"WithBreakerDetail(-1): want 0":    otelthrottle.WithBreakerDetail(-1),
		"WithBreakerDetail(1001): want 0":  otelthrottle.WithBreakerDetail(1001),
		"WithGroupDetail(-1): want 0":      otelthrottle.WithGroupDetail(-1),
		"WithGroupDetail(101): want 0":     otelthrottle.WithGroupDetail(101),
		"WithObjective(1, ":                otelthrottle.WithObjective(1, 0),
		"WithObjective(99.9":               otelthrottle.WithObjective(99.9, 0),
		"WithObjective(-0.1":               otelthrottle.WithObjective(-0.1, 0),
		"WithObjective(0.9, -1":            otelthrottle.WithObjective(0.9, -1),
		"WithAttributes: attribute 2 of 2": otelthrottle.WithAttributes(attribute.String("app", "shop"), attribute.String("", "red")),
	} {
		if _, err := otelthrottle.New(o); err == nil || !strings.HasPrefix(err.Error(), "otelthrottle: "+want) {
			t.Errorf("New: got error %v want otelthrottle: %s", err, want)
		}
	}
	for _, o := range []otelthrottle.Option{
		otelthrottle.WithBreakerDetail(0), otelthrottle.WithBreakerDetail(1000), otelthrottle.WithGroupDetail(0), otelthrottle.WithGroupDetail(100),
		nil, otelthrottle.WithAttributes(), otelthrottle.WithFilter(nil), otelthrottle.WithSpanNameFormatter(nil),
	} {
		newTelemetry(t, o)
	}
}

// TestAttributesOfTheUsers are on every series and span, except those that this package sets: a success that had an error.type,
// because every series has, would look like a failure. The slice of the user is left alone.
func TestAttributesOfTheUsers(t *testing.T) {
	var shown []string
	for _, mine := range [][]attribute.KeyValue{nil, everyOwnKey(t)} {
		before := slices.Clone(mine)
		zone := []attribute.KeyValue{attribute.String("zone", "b")}
		l := newLab(t, setup{options: append(detailed(), otelthrottle.WithAttributes(zone...), otelthrottle.WithAttributes(mine...))})
		equal(t, "the slice of the user is as before", slices.Equal(mine, before), true)
		zone[0] = attribute.String("zone", "changed")
		everyKind(t, l, throttle.Config{Name: "db"})
		ctx, request := l.request(t.Context())
		_ = l.throttle(t, throttle.Config{Name: "db"}).Do(ctx, throttle.High, succeed)
		request.End()
		keys := slices.Sorted(maps.Keys(l.read(t)))
		for _, key := range keys {
			equal(t, "attribute of the user on "+key, strings.Contains(key, "zone=b"), true)
		}
		shown = append(shown, strings.Join(keys, "\n"))
		wantAttributes(t, "the span", l.spanNamed(t, "throttle db").Attributes(), "zone", "b", "throttle.name", "db",
			"throttle.priority", "high", "throttle.decision", "admitted", "throttle.rejection_probability", 0.0, "throttle.outcome", "accepted")
	}
	equal(t, "series", shown[1], shown[0])
}
