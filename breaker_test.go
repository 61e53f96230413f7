package spillway_test

import (
	"context"
	"maps"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// circuits, changes, decided and wentWrong are the names of samples of the shop's breaker.

func circuits(state string) string {
	return sample("throttle_breaker_circuits", "breaker_name", "webhooks", "breaker_state", state)
}

func changes(state string) string {
	return sample("throttle_breaker_transitions_total", "breaker_name", "webhooks", "breaker_state", state)
}

func decided(decision, state string) string {
	return sample("throttle_breaker_calls_total", "breaker_name", "webhooks", "decision", decision, "breaker_state", state)
}

func wentWrong(failure string) string {
	return sample("throttle_breaker_failures_total", "breaker_name", "webhooks", "breaker_failure", failure)
}

// breakerAtStart is what a new breaker shows.
func breakerAtStart() scrape {
	want := scrape{sample("throttle_breaker_leader", "breaker_name", "webhooks"): 0}
	for _, state := range []string{"closed", "open", "half_open", "disabled"} {
		want[circuits(state)], want[changes(state)] = 0, 0
		if state != "closed" {
			want[decided("shed", state)] = 0
		}
	}
	want[decided("admitted", "closed")], want[decided("admitted", "half_open")] = 0, 0
	for _, failure := range []string{
		"store", "poll", "counts", "notify", "record", "loss", "fenced", "conflict", "lease", "settings", "hook", "not_running",
	} {
		want[wentWrong(failure)] = 0
	}
	return want
}

// TestBreakerToPrometheus is the whole path of a breaker: what it decides, and what Prometheus sees of it.
func TestBreakerToPrometheus(t *testing.T) {
	s := openShop(t)
	a, b := breaker.Key{ID: "a"}, breaker.Key{Tenant: "acme", ID: "b"}
	polls := 0
	m := breaker.Must(breaker.New(breaker.Config{
		Name: "webhooks", Hooks: s.tel.BreakerHooks(),
		Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			if polls++; polls > 1 {
				return nil, errPlain
			}
			return map[breaker.Key]breaker.PollResult{a: {Failures: 10}}, nil
		},
	}))
	want := breakerAtStart()
	s.scrape().of("throttle_breaker").want(t, "at start", want)

	ctx, request := s.traces.Tracer("shop").Start(t.Context(), "delivery")
	for range 2 {
		_ = m.Sample(ctx) // the second poll fails
	}
	if err := m.Disable(ctx, b); err != nil {
		t.Fatalf("Disable: got error %v want nil", err)
	}
	for _, k := range []breaker.Key{a, a, b, {ID: "c"}} {
		_ = m.CanExecute(ctx, k)
	}
	request.End()
	maps.Copy(want, scrape{
		circuits("open"): 1, circuits("disabled"): 1, changes("open"): 1, changes("disabled"): 1,
		decided("shed", "open"): 2, decided("shed", "disabled"): 1, decided("admitted", "closed"): 1, wentWrong("poll"): 1,
	})
	got := s.scrape().of("throttle_breaker")
	age := sample("throttle_breaker_snapshot_age_seconds", "breaker_name", "webhooks")
	if value, ok := got[age]; !ok || value < 0 {
		t.Errorf("age of the snapshot: got %v, there %v, want one", value, ok)
	}
	delete(got, age)
	got.want(t, "after calls", want)
	if events := s.spans.Ended()[0].Events(); len(events) != 3 || events[0].Name != "throttle.breaker.shed" {
		t.Errorf("events on the caller's span: got %v want three of throttle.breaker.shed", events)
	}

	_ = m.Close()
	s.scrape().of("throttle_breaker").want(t, "after Close", scrape{})
}
