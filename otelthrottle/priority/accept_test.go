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

func TestAccept(t *testing.T) {
	for name, c := range map[string]struct {
		trust  throttle.Trust
		text   string
		want   throttle.Priority
		onward string
	}{
		"trusted, at the ceiling":    {trusting, ours + "important", throttle.Important, ours + "important"},
		"trusted, below it":          {trusting, ours + "medium", throttle.Medium, ours + "medium"},
		"trusted, below the default": {trusting, ours + "p7", 7, ours + "p7"},
		"trusted, with properties":   {trusting, ours + "medium;a=1;b", throttle.Medium, ours + "medium;a=1;b"},
		"trusted, above the ceiling": {trusting, ours + "high;a=1", throttle.Important, ours + "important"},
		"trusted, encoded, too high": {trusting, ours + "%68igh", throttle.Important, ours + "important"},
		"trusted, silent":            {trusting, "", throttle.Low, ""},
		"trusted, empty":             {trusting, ours, throttle.Low, ""},
		"trusted, unknown":           {trusting, ours + "urgent", throttle.Low, ""},
		"trusted, encoded twice":     {trusting, ours + "%2568igh", throttle.Low, ""},
		"untrusted":                  {wary, ours + "high", throttle.Low, ""},
		"untrusted, asks for less":   {wary, ours + "p7", throttle.Low, ""},
		"nobody is trusted":          {throttle.Trust{Default: throttle.Medium}, ours + "high", throttle.Medium, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := priority.Accept(carrying(c.text), c.trust)
			equal(t, "priority", throttle.PriorityFromContext(ctx, unset), c.want)
			equal(t, "onward", onward(ctx), c.onward)
		})
	}
}

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
