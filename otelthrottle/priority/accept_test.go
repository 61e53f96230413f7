package priority_test

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

const ours = priority.BaggageKey + "="

// A Peer that changes its mind between two questions must not be asked two.
func TestPeerIsAskedOnce(t *testing.T) {
	type key struct{}
	for text, want := range map[string]int{"": 0, ours + "urgent": 0, ours + "high": 1} {
		asked := 0
		trust := throttle.Trust{Default: throttle.Low, Peer: func(ctx context.Context) bool {
			asked++
			return ctx.Value(key{}) == "ours" && asked == 1
		}}
		ctx := priority.Accept(context.WithValue(carrying(text), key{}, "ours"), trust)
		equal(t, "questions about "+text, asked, want)
		equal(t, "onward of "+text, onward(ctx) != "", want == 1)
	}
}

// "important" is longer than "high": where it does not fit, the member goes, and the others stay.
func TestAcceptWithFullBaggage(t *testing.T) {
	full := "a=" + strings.Repeat("x", 8192-len("a=,"+ours+"high"))
	ctx := priority.Accept(carrying(full+","+ours+"high"), trusting)
	equal(t, "priority", throttle.PriorityFromContext(ctx, unset), throttle.Important)
	equal(t, "onward", onward(ctx), "")
	equal(t, "the others", baggage.FromContext(ctx).String(), full)
}
