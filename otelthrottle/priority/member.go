package priority

import (
	"context"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/throttle"
)

// BaggageKey is the key of the baggage member that carries the priority. The value is the priority's word, never a number.
const BaggageKey = "throttle.priority"

// The limits of W3C baggage. Beyond them a receiver drops members, or all of it.
const (
	maxMembers = 64
	maxBytes   = 8192
)

// wordFor returns the word that stands for p on the wire. A priority that has none is a mistake and becomes the lowest, as
// it does in a throttle: who gets his priority wrong is never promoted.
func wordFor(p throttle.Priority) string {
	p, _ = throttle.ClampPriority(p, throttle.MaxPriorities)
	return p.String()
}

// isPriority reports whether a receiver might take key for BaggageKey. Keys are not encoded, says the specification, but the
// propagators for Python and JavaScript decode them; and what is trimmed off a key differs between languages.
func isPriority(key string) bool {
	if strings.ContainsAny(key, "%+") {
		key, _ = url.QueryUnescape(key) // empty, hence not ours, if it cannot be decoded
	}
	return strings.TrimFunc(key, isHidden) == BaggageKey
}

// isHidden reports whether r is anything but a visible ASCII character.
func isHidden(r rune) bool { return r <= ' ' || r > '~' }

// say returns ctx with baggage that says word about the priority, or nothing if word is empty, and whether that took a
// change. A member that says so already keeps its properties.
func say(ctx context.Context, word string) (said context.Context, changed bool) {
	bag, right := baggage.FromContext(ctx), false
	for _, m := range bag.Members() {
		switch {
		case !isPriority(m.Key()):
		case m.Key() == BaggageKey && m.Value() == word && word != "":
			right = true
		default:
			bag, changed = bag.DeleteMember(m.Key()), true
		}
	}
	if word != "" && !right {
		bag, right = add(bag, word)
		changed = changed || right
	}
	if !changed {
		return ctx, false
	}
	return baggage.ContextWithBaggage(ctx, bag), true
}

// add returns bag with the priority's member, if there is room, and whether there was.
func add(bag baggage.Baggage, word string) (baggage.Baggage, bool) {
	member, err := baggage.NewMemberRaw(BaggageKey, word)
	if err != nil {
		return bag, false
	}
	with, err := bag.SetMember(member)
	if err != nil || with.Len() > maxMembers || len(with.String()) > maxBytes {
		return bag, false
	}
	return with, true
}
