package priority_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

func TestInject(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		p    throttle.Priority
		want string
	}{
		"high":                       {"", throttle.High, "throttle.priority=high"},
		"low":                        {"", throttle.Low, "throttle.priority=low"},
		"without a name":             {"", 7, "throttle.priority=p7"},
		"the lowest":                 {"", 15, "throttle.priority=p15"},
		"too low is lowest":          {"", 16, "throttle.priority=p15"},
		"far too low is lowest":      {"", 127, "throttle.priority=p15"},
		"too high is lowest":         {"", -1, "throttle.priority=p15"},
		"far too high is lowest":     {"", -128, "throttle.priority=p15"},
		"replaces a higher one":      {"throttle.priority=high;a", throttle.Low, "throttle.priority=low"},
		"replaces a lower one":       {"throttle.priority=low;a", throttle.High, "throttle.priority=high"},
		"keeps the same":             {"throttle.priority=low;a=1", throttle.Low, "throttle.priority=low;a=1"},
		"replaces an empty one":      {"throttle.priority=", throttle.Low, "throttle.priority=low"},
		"replaces a disguised one":   {"throttle%2Epriority=high", throttle.Low, "throttle.priority=low"},
		"strips one beside the same": {"throttle%2Epriority=high,throttle.priority=low", throttle.Low, "throttle.priority=low"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := priority.Inject(throttle.WithPriority(carrying(c.text), c.p))
			equal(t, "baggage", baggage.FromContext(ctx).String(), c.want)
			equal(t, "priority", throttle.PriorityFromContext(ctx, unset), c.p)
		})
	}
}

// With one member or one byte more, receivers would drop members of others, or all of them.
func TestInjectIntoFullBaggage(t *testing.T) {
	const member = ",throttle.priority=low"
	long := func(n int) string { return "a=" + strings.Repeat("x", n-len("a=")) }
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"63 members":    {many(63), true},
		"64 members":    {many(64), false},
		"ours is 64th":  {many(63) + ",throttle.priority=high", true},
		"it just fits":  {long(8192 - len(member)), true},
		"one too long":  {long(8192 - len(member) + 1), false},
		"already there": {long(8192-len(member)) + member, true},
	} {
		t.Run(name, func(t *testing.T) {
			parent := carrying(c.text)
			sent := send(t, throttle.WithPriority(context.Background(), throttle.Low), everywhere, c.text)
			equal(t, "sent", strings.Join(words(sent.header), ",") == "low", c.want)
			equal(t, "sent at all", len(words(sent.header)) > 0, c.want)
			injected := priority.Inject(throttle.WithPriority(parent, throttle.Low))
			for _, ctx := range []context.Context{injected, extracted(sent.header)} {
				equal(t, "onward", onward(ctx) == "throttle.priority=low", c.want)
				equal(t, "onward at all", onward(ctx) != "", c.want)
				if got, want := others(ctx), others(parent); !maps.Equal(got, want) {
					t.Errorf("others: got %d members want %d", len(got), len(want))
				}
			}
		})
	}
}

// many returns n small members.
func many(n int) string {
	text := make([]string, n)
	for i := range text {
		text[i] = fmt.Sprintf("k%d=%d", i, i)
	}
	return strings.Join(text, ",")
}
