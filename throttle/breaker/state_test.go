package breaker_test

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestStatesHaveWords(t *testing.T) {
	want := map[breaker.State]string{
		breaker.Closed: "closed", breaker.Open: "open", breaker.HalfOpen: "half_open", breaker.Disabled: "disabled",
		breaker.Disabled + 1: "state(4)", 255: "state(255)",
	}
	for s, word := range want {
		if got := s.String(); got != word {
			t.Errorf("State(%d) = %q, want %q", s, got, word)
		}
		var parsed breaker.State
		err := parsed.UnmarshalText([]byte(word))
		if known := s < breaker.Disabled+1; (err == nil) != known || known && parsed != s {
			t.Errorf("UnmarshalText(%q) = %v, %v", word, parsed, err)
		}
	}
	if err := new(breaker.State).UnmarshalText(nil); err == nil || !strings.Contains(err.Error(), "closed, open, half_open or disabled") {
		t.Errorf("UnmarshalText of the empty word: got error %v", err)
	}
}

func TestSeverity(t *testing.T) {
	for i, s := range []breaker.State{breaker.Closed, breaker.HalfOpen, breaker.Open, breaker.Disabled} {
		if got := s.Severity(); got != i {
			t.Errorf("severity of %v is %d, want %d", s, got, i)
		}
	}
}

func TestReasonsAndFailuresHaveWords(t *testing.T) {
	reasons := map[breaker.Reason]string{
		0: "", breaker.ReasonFailing: "failing", breaker.ReasonTimeOver: "time_over", breaker.ReasonRecovered: "recovered", breaker.ReasonUndecided: "undecided",
		breaker.ReasonTooManyTrips: "too_many_trips", breaker.ReasonForgotten: "forgotten", breaker.ReasonByHand: "by_hand", 200: "reason(200)",
	}
	for r, word := range reasons {
		if got := r.String(); got != word {
			t.Errorf("Reason(%d) = %q, want %q", r, got, word)
		}
	}
	seen := map[string]bool{}
	kinds := 0
	for f := range (breaker.ErrorCounts{}).All() {
		kinds++
		if w := f.String(); w == "" || strings.Contains(w, "(") || seen[w] {
			t.Errorf("Failure(%d) = %q", f, w)
		} else {
			seen[w] = true
		}
	}
	if got := breaker.Failure(kinds).String(); got != "failure(12)" {
		t.Errorf("a failure that is none is %q", got)
	}
	policies := map[breaker.StalePolicy]string{breaker.FailOpen: "fail_open", breaker.KeepLast: "keep_last", breaker.FailClosed: "fail_closed", 9: "stale_policy(9)"}
	for p, word := range policies {
		if got := p.String(); got != word {
			t.Errorf("StalePolicy(%d) = %q, want %q", p, got, word)
		}
	}
}
