package priority

import (
	"context"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/throttle"
)

// BaggageKey is the key of the baggage member with the priority. Its value is the word of the
// priority, such as "high", and never a number.
const BaggageKey = "throttle.priority"

// The limits of W3C baggage. Beyond them a receiver drops members, or all of them.
const (
	maxMembers = 64
	maxBytes   = 8192
)

// valueFor returns the baggage value of p. A priority out of range becomes the lowest one, as it
// does in a throttle: a mistake never promotes a call.
func valueFor(p throttle.Priority) string {
	p, _ = throttle.ClampPriority(p, throttle.MaxPriorities)
	return p.String()
}

// isPriority reports whether a receiver may read key as BaggageKey. By the specification, keys are
// not encoded. But the propagators for Python and JavaScript decode them, and languages differ in
// the characters that they trim.
func isPriority(key string) bool {
	if strings.ContainsAny(key, "%+") {
		key, _ = url.QueryUnescape(key) // empty on failure, which is not BaggageKey
	}
	return strings.TrimFunc(key, isInvisible) == BaggageKey
}

// isInvisible reports whether r is not a visible ASCII character.
func isInvisible(r rune) bool { return r <= ' ' || r > '~' }

// setMember returns ctx with baggage whose only priority is value, or with none if value is empty,
// and whether that was a change. A member that has the value already keeps its properties.
func setMember(ctx context.Context, value string) (result context.Context, changed bool) {
	bag, present := baggage.FromContext(ctx), false
	for _, m := range bag.Members() {
		switch {
		case !isPriority(m.Key()):
		case m.Key() == BaggageKey && m.Value() == value && value != "":
			present = true
		default:
			bag, changed = bag.DeleteMember(m.Key()), true
		}
	}
	if value != "" && !present {
		bag, present = addMember(bag, value)
		changed = changed || present
	}
	if !changed {
		return ctx, false
	}
	return baggage.ContextWithBaggage(ctx, bag), true
}

// addMember returns bag with the priority member, and whether it fits. If not, bag is unchanged.
func addMember(bag baggage.Baggage, value string) (baggage.Baggage, bool) {
	member, err := baggage.NewMemberRaw(BaggageKey, value)
	if err != nil {
		return bag, false
	}
	with, err := bag.SetMember(member)
	if err != nil || with.Len() > maxMembers || len(with.String()) > maxBytes {
		return bag, false
	}
	return with, true
}
