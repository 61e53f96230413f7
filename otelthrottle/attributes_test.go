package otelthrottle_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// everyOwnKey has a value of the user's for every key that series and spans have of the schema's.
func everyOwnKey() []attribute.KeyValue {
	mine := []attribute.KeyValue{otelthrottle.KeyProbability.String("mine"), otelthrottle.KeyBucketSource.String("mine")}
	for _, d := range schema() {
		for _, set := range d.attributes {
			for key := range strings.FieldsSeq(set) {
				mine = append(mine, attribute.String(key, "mine"))
			}
		}
	}
	return mine
}

// TestKeysOfTheSchemaAreNotTheUsers: a success that has an error.type, because every series has, is a failure to whoever counts.
func TestKeysOfTheSchemaAreNotTheUsers(t *testing.T) {
	var told []string
	for _, options := range [][]otelthrottle.Option{detailed(), append(detailed(), otelthrottle.WithAttributes(everyOwnKey()...))} {
		l := newLab(t, setup{options: options})
		everyKind(t, l, throttle.Config{Name: "db"})
		ctx, request := l.request(t.Context())
		_ = l.throttle(t, throttle.Config{Name: "db"}).Do(ctx, throttle.High, succeed)
		request.End()
		told = append(told, strings.Join(slices.Sorted(maps.Keys(l.read(t))), "\n"))
		for _, kv := range l.spanNamed(t, "throttle db").Attributes() {
			if kv.Value.AsString() == "mine" || kv.Key == otelthrottle.KeyErrorType {
				t.Errorf("attribute of a call that succeeded: got %s %q", kv.Key, kv.Value.AsString())
			}
		}
	}
	equal(t, "series", told[1], told[0])
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
