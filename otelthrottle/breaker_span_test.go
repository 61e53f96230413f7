package otelthrottle_test

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestRefusedCallsAreEventsOfTheCallersSpan checks the event of a refused call. It has the key only
// with detail.
func TestRefusedCallsAreEventsOfTheCallersSpan(t *testing.T) {
	name := []any{"throttle.breaker.name", "webhooks", "throttle.breaker.state", "disabled"}
	for _, tt := range []struct {
		name    string
		options []otelthrottle.Option
		mode    throttle.Mode
		want    []any // nil for no event
	}{
		{"by default", nil, throttle.ModeEnforce, name},
		{"with detail", detailed(), throttle.ModeEnforce, append(name, "throttle.breaker.tenant", "acme", "throttle.breaker.key", "a")},
		{"in shadow", detailed(), throttle.ModeShadow, nil},
		{"without spans", []otelthrottle.Option{otelthrottle.WithoutSpans()}, throttle.ModeEnforce, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, setup{options: tt.options})
			m := l.breaker(t, breaker.Config{Mode: tt.mode})
			a := breaker.Key{Tenant: "acme", ID: "a"}
			disable(t, m, a)
			ctx, request := l.request(t.Context())
			admit(t, m, breaker.Key{ID: "b"})
			if tt.mode == throttle.ModeShadow {
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

// TestStrangeKeysOfCircuits are valid on a scrape, and cannot be taken for one another.
func TestStrangeKeysOfCircuits(t *testing.T) {
	long := "https://hooks.example.com/" + strings.Repeat("0123456789abcdef", 64)
	keys := append(strangeNames(), strangeName{"longer than a kilobyte", long, long})
	l, e := newScrapedLab(t, setup{options: []otelthrottle.Option{otelthrottle.WithBreakerDetail(100)}})
	m := l.breaker(t, breaker.Config{})
	for _, k := range keys {
		disable(t, m, breaker.Key{Tenant: k.given, ID: k.given})
		disable(t, m, breaker.Key{Tenant: k.given, ID: k.given + "\xff"})
		ctx, request := l.tracer.Start(t.Context(), k.name)
		refuse(ctx, t, m, breaker.Key{Tenant: k.given, ID: k.given})
		request.End()
		for _, kv := range l.spanNamed(t, k.name).Events()[0].Attributes[2:] {
			if got := kv.Value.AsString(); got != k.want && !strings.Contains(got, "…") || len(got) > 128 {
				t.Errorf("%s: got %q want %q, or a part of it and a fingerprint", kv.Key, got, k.want)
			}
		}
	}
	equal(t, "series of circuits", len(l.read(t).of(semconv.MetricBreakerCircuit)), 2*len(keys))
	e.scrape(t, openMetrics)
	wantSeries(t, e.scrape(t, ""), "throttle_breaker_circuit", 2*len(keys))
}
