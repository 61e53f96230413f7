package breaker_test

import (
	"encoding"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// word is a value that is written as a word.
type word interface {
	fmt.Stringer
	encoding.TextMarshaler
}

// hasWord checks the word of a value, and that UnmarshalText reads it, unless the value is none.
func hasWord[T word](t *testing.T, value T, want string, valid bool) {
	t.Helper()
	text, err := value.MarshalText()
	if value.String() != want || (err == nil) != valid || valid && string(text) != want {
		t.Errorf("got %q, and %q as text, error %v want %q", value, text, err, want)
	}
	var read T
	err = any(&read).(encoding.TextUnmarshaler).UnmarshalText([]byte(want))
	if (err == nil) != valid || valid && any(read) != any(value) {
		t.Errorf("UnmarshalText(%q): got %v, error %v", want, read, err)
	}
}

func TestWords(t *testing.T) {
	for i, want := range []string{"closed", "open", "half_open", "disabled", "state(4)"} {
		hasWord(t, breaker.State(i), want, i < 4)
	}
	for i, want := range []string{"", "failing", "time_over", "recovered", "undecided", "too_many_trips", "forgotten", "by_hand", "reason(8)"} {
		hasWord(t, breaker.Reason(i), want, i < 8)
	}
	for i, want := range []string{"fail_open", "keep_last", "fail_closed", "stale_policy(3)"} {
		hasWord(t, breaker.StalePolicy(i), want, i < 3)
	}
	words := []string{"store", "poll", "counts", "notify", "record", "loss", "fenced", "conflict", "lease", "settings", "hook", "not_running"}
	for i, want := range append(words, "failure(12)") {
		hasWord(t, breaker.Failure(i), want, i < len(words))
	}
	kinds := 0
	for range (breaker.ErrorCounts{}).All() {
		kinds++
	}
	if kinds != len(words) {
		t.Errorf("got %d kinds of failures want %d", kinds, len(words))
	}
}

func TestSeverity(t *testing.T) {
	for i, s := range []breaker.State{breaker.Closed, breaker.HalfOpen, breaker.Open, breaker.Disabled} {
		if got := s.Severity(); got != i {
			t.Errorf("severity of %v is %d, want %d", s, got, i)
		}
	}
}
