package otelthrottle_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// breakerPageAtStart is what Prometheus scrapes of a breaker without circuits, without the labels of the scope.
const breakerPageAtStart = `
throttle_breaker_calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="closed",throttle_decision="admitted"} 0
throttle_breaker_calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="disabled",throttle_decision="shed"} 0
throttle_breaker_calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="half_open",throttle_decision="admitted"} 0
throttle_breaker_calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="half_open",throttle_decision="shed"} 0
throttle_breaker_calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="open",throttle_decision="shed"} 0
throttle_breaker_circuits{throttle_breaker_name="webhooks",throttle_breaker_state="closed"} 0
throttle_breaker_circuits{throttle_breaker_name="webhooks",throttle_breaker_state="disabled"} 0
throttle_breaker_circuits{throttle_breaker_name="webhooks",throttle_breaker_state="half_open"} 0
throttle_breaker_circuits{throttle_breaker_name="webhooks",throttle_breaker_state="open"} 0
throttle_breaker_failures_total{throttle_breaker_failure="conflict",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="counts",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="fenced",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="hook",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="lease",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="loss",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="not_running",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="notify",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="poll",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="record",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="settings",throttle_breaker_name="webhooks"} 0
throttle_breaker_failures_total{throttle_breaker_failure="store",throttle_breaker_name="webhooks"} 0
throttle_breaker_leader{throttle_breaker_name="webhooks"} 0
throttle_breaker_transitions_total{throttle_breaker_name="webhooks",throttle_breaker_state="closed"} 0
throttle_breaker_transitions_total{throttle_breaker_name="webhooks",throttle_breaker_state="disabled"} 0
throttle_breaker_transitions_total{throttle_breaker_name="webhooks",throttle_breaker_state="half_open"} 0
throttle_breaker_transitions_total{throttle_breaker_name="webhooks",throttle_breaker_state="open"} 0
`

// TestBreakerToPrometheus follows a breaker from its calls to the page that Prometheus scrapes.
func TestBreakerToPrometheus(t *testing.T) {
	l, e := newScrapedLab(t, setup{})
	a, b := breaker.Key{ID: "a"}, breaker.Key{Tenant: "acme", ID: "b"}
	polls := 0
	m := breaker.Must(breaker.New(breaker.Config{
		Name: "webhooks", Hooks: l.tel.BreakerHooks(),
		Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
			if polls++; polls > 1 {
				return nil, errPlain
			}
			return map[breaker.Key]breaker.PollResult{a: {Failures: 10}}, nil
		},
	}))
	want := strings.Split(strings.TrimSpace(breakerPageAtStart), "\n")
	wantBreakerLines(t, "at start", e.scrape(t, ""), want)

	ctx, request := l.request(t.Context())
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
	for labels, value := range map[string]string{
		`circuits{throttle_breaker_name="webhooks",throttle_breaker_state="open"}`:                                   "1",
		`circuits{throttle_breaker_name="webhooks",throttle_breaker_state="disabled"}`:                               "1",
		`transitions_total{throttle_breaker_name="webhooks",throttle_breaker_state="open"}`:                          "1",
		`transitions_total{throttle_breaker_name="webhooks",throttle_breaker_state="disabled"}`:                      "1",
		`calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="open",throttle_decision="shed"}`:       "2",
		`calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="disabled",throttle_decision="shed"}`:   "1",
		`calls_total{throttle_breaker_name="webhooks",throttle_breaker_state="closed",throttle_decision="admitted"}`: "1",
		`failures_total{throttle_breaker_failure="poll",throttle_breaker_name="webhooks"}`:                           "1",
	} {
		i := slices.Index(want, "throttle_breaker_"+labels+" 0")
		if i < 0 {
			t.Fatalf("got no series %s at start", labels)
		}
		want[i] = "throttle_breaker_" + labels + " " + value
	}
	page := e.scrape(t, "")
	if !regexp.MustCompile(`(?m)^throttle_breaker_snapshot_age_seconds\{.*\} [0-9][0-9.e-]*$`).MatchString(page) {
		t.Error("after calls: got no age of the snapshot, or a negative one")
	}
	wantBreakerLines(t, "after calls", page, want)
	if events := l.spanNamed(t, "request").Events(); len(events) != 3 || events[0].Name != "throttle.breaker.shed" {
		t.Errorf("events on the caller's span: got %v want three of throttle.breaker.shed", events)
	}

	_ = m.Close()
	wantBreakerLines(t, "after Close", e.scrape(t, ""), nil)
}

// wantBreakerLines compares the series of breakers on a page, without the labels of the scope and without the age of
// the snapshot, which depends on the clock.
func wantBreakerLines(t *testing.T, when, page string, want []string) {
	t.Helper()
	scope := regexp.MustCompile(`otel_scope_\w+="[^"]*",?`)
	var got []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "throttle_breaker_") && !strings.HasPrefix(line, "throttle_breaker_snapshot_age_seconds{") {
			got = append(got, strings.TrimSpace(scope.ReplaceAllString(line, "")))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
