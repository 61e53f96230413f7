package otelthrottle_test

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRefusedCallsAreEventsOfTheCallersSpan looks at what the span of a caller is told. Keys stay at home unless detail is on.
func TestRefusedCallsAreEventsOfTheCallersSpan(t *testing.T) {
	name := []any{"throttle.breaker.name", "webhooks", "throttle.breaker.state", "disabled"}
	for _, tt := range []struct {
		name    string
		options []otelthrottle.Option
		dryRun  bool
		want    []any // nil for no event
	}{
		{"by default", nil, false, name},
		{"with detail", detailed(), false, append(name, "throttle.breaker.tenant", "acme", "throttle.breaker.key", "a")},
		{"in DryRun", detailed(), true, nil},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: tt.options})
			m := l.breaker(t, breaker.Config{DryRun: tt.dryRun})
			a := breaker.Key{Tenant: "acme", ID: "a"}
			disable(t, m, a)
			ctx, request := l.request(t.Context())
			admit(t, m, breaker.Key{ID: "b"})
			if tt.dryRun {
				_ = m.CanExecute(ctx, a)
			} else {
				refuse(ctx, t, m, a)
			}
			request.End()
			l.wantSpans(t, "request")
			events := l.spanNamed(t, "request").Events()
			if tt.want == nil {
				equal(t, "events", len(events), 0)
				return
			}
			equal(t, "events", len(events), 1)
			equal(t, "event", events[0].Name, "throttle.breaker.shed")
			wantAttributes(t, "event", events[0].Attributes, tt.want...)
		})
	}
}

// TestStrangeBreakers are valid on a scrape, of which one bad label would spoil the whole, and cannot be taken for one another.
func TestStrangeBreakers(t *testing.T) {
	long := "https://hooks.example.com/" + strings.Repeat("0123456789abcdef", 64)
	tests := []struct{ name, given, want string }{
		{"spaces", "my hooks", "my hooks"},
		{"quotes and braces", `"a" 'b' {c="d"} \n`, `"a" 'b' {c="d"} \n`},
		{"lines", "a\nb\rc\td", "a\nb\rc\td"},
		{"zero byte", "a\x00b", "a\x00b"},
		{"other letters", "заказы 注文 🧨", "заказы 注文 🧨"},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"longer than a kilobyte", long, long},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, e := newScrapedLab(t, setup{options: detailed()})
			m := l.breaker(t, breaker.Config{Name: tt.given[:min(len(tt.given), 255)]})
			k, twin := breaker.Key{Tenant: tt.given, ID: tt.given}, breaker.Key{Tenant: tt.given, ID: tt.given + "\xff"}
			disable(t, m, k)
			disable(t, m, twin)
			ctx, request := l.request(t.Context())
			refuse(ctx, t, m, k)
			request.End()
			equal(t, "series of circuits", len(l.read(t).of(otelthrottle.MetricBreakerCircuit)), 2)
			e.scrape(t, openMetrics)
			equal(t, "series of throttle_breaker_circuit", strings.Count(e.scrape(t, ""), "\nthrottle_breaker_circuit{"), 2)
			attributes := l.spanNamed(t, "request").Events()[0].Attributes
			if got, want := attributes[0].Value.AsString(), tt.want[:min(len(tt.want), 255)]; got != want {
				t.Errorf("name in the event: got %q want %q", got, want)
			}
			for _, kv := range attributes[2:] {
				if got := kv.Value.AsString(); got != tt.want && !strings.Contains(got, "…") || len(got) > 128 {
					t.Errorf("%s: got %q want %q, or a part of it and a fingerprint", kv.Key, got, tt.want)
				}
			}
		})
	}
}
