package breaker_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func TestEventsAreOneShortLine(t *testing.T) {
	m := agent(t, breaker.Config{Name: "hooks"})
	defer m.Close()
	k, long := breaker.Key{Tenant: "acme", ID: "k"}, breaker.Key{ID: strings.Repeat("x", 1<<20)}
	for event, want := range map[fmt.Stringer]string{
		breaker.ShedEvent{Manager: m, Key: k, State: breaker.Open}:                                                                         `breaker hooks shed a call of "acme"/"k": open`,
		breaker.ShedEvent{Manager: m, Key: k, State: breaker.Open, Shadow: true}:                                                           `breaker hooks shed a call of "acme"/"k": open, shadow`,
		breaker.Event{Breaker: "hooks", Key: k, From: breaker.Closed, To: breaker.Open, Reason: breaker.ReasonFailing}:                     `breaker hooks: circuit "acme"/"k": closed -> open (failing)`,
		breaker.Event{Breaker: "hooks", Key: long, From: breaker.Open, To: breaker.HalfOpen, Reason: breaker.ReasonTimeOver, Shadow: true}: `breaker hooks: circuit "` + strings.Repeat("x", 64) + `"... (1048576 bytes): open -> half_open (time_over), shadow`,
		breaker.LeadEvent{Manager: m, Leads: true, Term: 7}:                                                                                "breaker hooks leads, term 7",
		breaker.LeadEvent{Manager: m, Term: 7}:                                                                                             "breaker hooks no longer leads, term 7",
		breaker.FailureEvent{Manager: m, Failure: breaker.PollFailed, Err: errBoom}:                                                        "breaker hooks: background task failed (poll): boom",
	} {
		if got := event.String(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestLogValues(t *testing.T) {
	m, k := agent(t, breaker.Config{Name: "hooks"}), breaker.Key{Tenant: "acme", ID: "k"}
	defer m.Close()
	must(t, m.Disable(t.Context(), k))
	var shed *breaker.ShedError
	if err := m.CanExecute(t.Context(), k); !errors.As(err, &shed) {
		t.Fatal(err)
	}
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	logger.Info("shed", "err", shed, "key", breaker.Key{ID: "alone"})
	want := `err.breaker=hooks err.key.tenant=acme err.key.id=k err.state=disabled err.reason="breaker: circuit is disabled" key.id=alone`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %swant %s", out.String(), want)
	}
	_ = (&breaker.ShedError{}).LogValue() // of a user's test
}
