package priority_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle/priority"
	"github.com/spillway-go/spillway/throttle"
)

// seeds adds headers, their lines parted by line feeds.
func seeds(add func(text string)) {
	for _, text := range []string{
		"", ",", "=", ";", "throttle.priority", "throttle.priority=", "throttle.priority=high", "throttle.priority=low;p=1",
		"throttle.priority=low,throttle.priority=high", "throttle.priority=low\nthrottle.priority=high",
		"throttle.priority=%68igh", "throttle%2Epriority=high", "+throttle.priority=high", "%C2%A0throttle.priority=high",
		"%00throttle.priority=", "throttle.priority\xea", "throttle.priority\xa0=high",
		"throttle.priority=HIGH,a=1;throttle.priority=high", "throttle.priority=low;=,a=%zz,\x00=\xff", "a=1 ,\t throttle.priority = p7 ",
		many(63) + ",throttle.priority=medium", many(64) + ",throttle.priority=medium", "throttle.priority=high," + many(64),
		"throttle.priority=high,a=" + strings.Repeat("x", 8200), "a=" + strings.Repeat("x", 8167) + ",throttle.priority=high",
	} {
		add(text)
	}
	for _, key := range []string{ // which some receivers decode
		"throttle%2Epriority", "throttle%2epriority", "%74hrottle.priority", "+throttle.priority", "throttle.priority+",
		"throttle.priority%20", "%C2%A0throttle.priority", "throttle.priority%1F", "%74%68rottle%2Epriority",
	} {
		add("a=1," + key + "=high")
		add("throttle.priority=medium," + key + "=high")
	}
}

// small reports whether the header is within the limits, so that propagators keep all of it.
func small(lines []string) bool {
	text := strings.Join(lines, ",")
	return len(text) <= 8192 && strings.Count(text, ",") < 64
}

func FuzzMiddleware(f *testing.F) {
	seeds(func(text string) {
		f.Add(text, true, false, int8(throttle.Important))
		f.Add(text, true, true, int8(throttle.High))
		f.Add(text, false, true, int8(throttle.High))
	})
	f.Fuzz(func(t *testing.T, text string, trusted, inside bool, ceiling int8) {
		lines := strings.Split(text, "\n")
		trust := throttle.Trust{Peer: always(trusted), Ceiling: throttle.Priority(ceiling), Default: throttle.Low}
		original := extracted(http.Header{"Baggage": lines})
		ctx := context.Background()
		if inside {
			ctx = original
		}
		got := serve(t, ctx, trust, lines...)
		switch p := got.priority(); {
		case !trusted:
			equal(t, "priority of a stranger", p, max(throttle.Low, trust.Ceiling))
			equal(t, "onward of a stranger", onward(got.ctx)+strings.Join(words(got.header), ","), "")
		case p < trust.Ceiling:
			t.Errorf("priority: got %v want nothing above %v", p, trust.Ceiling)
		}
		noMoreThan(t, got)
		if small(lines) {
			sameOthers(t, original, got)
		}
	})
}

func FuzzTransport(f *testing.F) {
	seeds(func(text string) {
		f.Add(text, "a=1", true, int8(throttle.Low))
		f.Add("a=1", text, true, int8(throttle.High))
		f.Add(text, text, false, int8(-1))
	})
	f.Fuzz(func(t *testing.T, text, bag string, allowed bool, p int8) {
		lines := strings.Split(text, "\n")
		ctx := throttle.WithPriority(carrying(bag), throttle.Priority(p))
		got := send(t, ctx, func(*http.Request) bool { return allowed }, lines...)
		if !allowed {
			equal(t, "onward to a stranger", onward(got.ctx)+strings.Join(words(got.header), ","), "")
		}
		noMoreThan(t, got)
		if small(lines) {
			equal(t, "others", maps.Equal(others(extracted(got.header)), others(extracted(http.Header{"Baggage": lines}))), true)
		}
		equal(t, "others of the context", maps.Equal(others(got.ctx), others(ctx)), true)

		again := send(t, got.ctx, func(*http.Request) bool { return allowed }, got.header["Baggage"]...)
		sameHeader(t, again.header, got.header)
	})
}

// noMoreThan fails if what travels on says anything but the priority of the context, or says it twice.
func noMoreThan(t *testing.T, got seen) {
	t.Helper()
	p, _ := throttle.ClampPriority(got.priority(), 16)
	for _, said := range append(words(got.header), words(http.Header{"Baggage": {onward(got.ctx)}})...) {
		if word, _, _ := strings.Cut(said, ";"); strings.TrimSpace(word) != p.String() {
			t.Errorf("onward: got %q want %v", said, p)
		}
	}
	if n := len(words(got.header)); n > 1 {
		t.Errorf("onward: the header says it %d times", n)
	}
	for key := range members(got.ctx) {
		if disguised(key) && key != priority.BaggageKey {
			t.Errorf("onward: got %q", key)
		}
	}
}

// sameOthers fails if a member that is not about priority did not arrive, in the context and in the header.
func sameOthers(t *testing.T, original context.Context, got seen) {
	t.Helper()
	for where, ctx := range map[string]context.Context{"context": got.ctx, "header": extracted(got.header)} {
		if now, before := others(ctx), others(original); !maps.Equal(now, before) {
			t.Errorf("others in the %s: got %q want %q", where, now, before)
		}
	}
}
