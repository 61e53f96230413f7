package otelthrottle_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// group returns a Group of throttles with the lab's clock and dice.
func (l *lab) group(t testing.TB, c throttle.GroupConfig) *throttle.Group {
	t.Helper()
	hooks := l.tel.Hooks()
	g, err := throttle.NewGroup(func(string) throttle.Config {
		return throttle.Config{Name: "hosts", Policy: throttle.SRE, Hooks: hooks, Now: l.Now, Rand: l.throw}
	}, c)
	if err != nil {
		t.Fatalf("NewGroup: got error %v want nil", err)
	}
	return g
}

func groupMember(t testing.TB, g *throttle.Group, key string) *throttle.Throttle {
	t.Helper()
	th, err := g.Get(key)
	if err != nil {
		t.Fatalf("Get(%q): got error %v want nil", key, err)
	}
	return th
}

// callsByKey returns the admitted and accepted calls of priority High, by throttle.key.
func callsByKey(s snapshot) map[string]float64 {
	got := map[string]float64{}
	for key, value := range s.of(semconv.MetricCalls).positive() {
		_, rest, _ := strings.Cut(key, "throttle.key=")
		name, _, _ := strings.Cut(rest, ",")
		got[name] += value
	}
	return got
}

func TestGroupKeyIsOnSpansAndEvents(t *testing.T) {
	l := newLab(t, setup{})
	th := groupMember(t, l.group(t, throttle.GroupConfig{}), "eu.example.com")
	ctx, request := l.request(t.Context())
	l.reject(t, th, throttle.Low, 60)
	l.shed(ctx, t, th, throttle.Low, 1)
	_ = th.Do(ctx, throttle.High, succeed)
	_ = th.Do(ctx, throttle.Low, succeed)
	request.End()
	wantAttributes(t, "event", l.spanNamed(t, "request").Events()[0].Attributes, "throttle.name", "hosts", "throttle.key", "eu.example.com",
		"throttle.priority", "low", "throttle.cause", "own", "throttle.rejection_probability", 0.5)
	spans := 0
	for _, s := range l.spans.Ended() {
		if s.Name() == "throttle hosts" {
			spans++
			got := ""
			for _, kv := range s.Attributes() {
				if kv.Key == semconv.KeyGroupKey {
					got += kv.Value.AsString()
				}
			}
			equal(t, "throttle.key of the span", got, "eu.example.com")
		}
	}
	equal(t, "spans", spans, 2)
	for key := range l.read(t) {
		if strings.Contains(key, "throttle.key") {
			t.Errorf("got series %s want no key without WithGroupDetail", key)
		}
	}
}

func TestWithGroupDetail(t *testing.T) {
	l := newLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithGroupDetail(2)}})
	g := l.group(t, throttle.GroupConfig{Max: 4})
	for n, key := range []string{"a", "b", "c", "d"} {
		times(n+1, groupMember(t, g, key), throttle.High, nil)
	}
	times(10, l.throttle(t, throttle.Config{Name: "alone"}), throttle.High, nil)
	want := map[string]float64{"": 10, "a": 1, "b": 2, "_OTHER": 7}
	if got := callsByKey(l.read(t)); !maps.Equal(got, want) {
		t.Errorf("calls: got %v want %v", got, want)
	}
	durations := series(semconv.MetricCallDuration,
		"throttle.name", "hosts", "throttle.key", "_OTHER", "throttle.priority", "high", "throttle.outcome", "accepted")
	equal(t, "durations of the others", l.read(t)[durations], 7)

	groupMember(t, g, "e") // evicts a, so that its series end
	delete(want, "a")
	if got := callsByKey(l.read(t)); !maps.Equal(got, want) {
		t.Errorf("calls, a evicted: got %v want %v", got, want)
	}
	times(1, groupMember(t, g, "a"), throttle.High, nil) // evicts b
	delete(want, "b")
	want["a"] = 2
	if got := callsByKey(l.read(t)); !maps.Equal(got, want) {
		t.Errorf("calls, a returned: got %v want %v", got, want)
	}
}

// strangeKeys are keys that a user gives, and what is shown of them. After an ellipsis follows the hash of the whole key.
func strangeKeys() []strangeName {
	long := strings.Repeat("x", 128)
	return append(strangeNames(), []strangeName{
		{"just short enough", long, long},
		{"too long by one", long + "x", long[:117] + "…"},
		{"of a kilobyte", "https://hooks.example.com/" + strings.Repeat("0123456789abcdef", 64), "https://hooks.example.com/01234567…"},
		{"a letter across the end", strings.Repeat("x", 115) + strings.Repeat("注", 9), strings.Repeat("x", 115) + "…"},
		{"every other byte is not UTF-8", strings.Repeat("a\xff", 64), strings.Repeat("a\uFFFD", 29) + "a…"},
	}...)
}

// TestStrangeKeys of groups and circuits are valid on a scrape, of limited length, and cannot be taken for one another.
func TestStrangeKeys(t *testing.T) {
	l, e := newScrapedLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithGroupDetail(100), otelthrottle.WithBreakerDetail(100)}})
	g, m := l.group(t, throttle.GroupConfig{}), l.breaker(t, breaker.Config{})
	keys := slices.DeleteFunc(strangeKeys(), func(k strangeName) bool { return k.name == "as long as can be" }) // of a name
	for _, k := range keys {
		for _, key := range []string{k.given, k.given + "\xff"} {
			times(1, groupMember(t, g, key), throttle.High, nil)
			disable(t, m, breaker.Key{Tenant: k.given, ID: key})
		}
		ctx, request := l.tracer.Start(t.Context(), k.name)
		_ = m.CanExecute(ctx, breaker.Key{Tenant: k.given, ID: k.given})
		request.End()
		for _, kv := range l.spanNamed(t, k.name).Events()[0].Attributes[2:] {
			got := kv.Value.AsString()
			want, _, cut := strings.Cut(k.want, "…")
			if cut = cut || k.given != k.want; got != k.given && !strings.HasPrefix(got, want) || cut != strings.Contains(got, "…") || len(got) > 128 {
				t.Errorf("%s of %s: got %q want %q, or a part of it and a hash", kv.Key, k.name, got, k.want)
			}
		}
	}
	all := 2 * len(keys)
	for key, calls := range callsByKey(l.read(t)) {
		equal(t, "calls of "+key, calls, 1)
	}
	equal(t, "keys of groups", len(callsByKey(l.read(t))), all)
	e.scrape(t, openMetrics)
	wantSeries(t, e.scrape(t, ""), "throttle_breaker_circuit", all)
}
