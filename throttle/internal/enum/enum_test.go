package enum_test

import (
	"encoding"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/control"
	"github.com/spillway-go/spillway/throttle/internal/enum"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/sqlstore"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// TestEnumerations has every enumeration that users meet, with the kind that its unknown values are called by, and all of its words
// from its first value on.
func TestEnumerations(t *testing.T) {
	check[throttle.Priority](t, "priority", 0,
		"high", "important", "medium", "low", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15")
	check[throttle.Mode](t, "mode", 0, "enforce", "shadow", "off")
	check[throttle.Policy](t, "policy", 0, "tiered", "sre")
	check[throttle.AlertReason](t, "alert_reason", 0, "none", "ratio", "growth", "formula", "full", "trial")
	check[throttle.Outcome](t, "outcome", 0, "accepted", "rejected", "ignored", "shed", "overloaded")
	check[throttle.Fault](t, "fault", 0, "none", "availability", "quota", "authentication", "permission", "bad", "conflict", "missing",
		"precondition", "unimplemented", "timeout", "canceled", "shed", "panic", "other")
	check[throttle.Cause](t, "cause", 0, "own", "above", "limit", "processor", "told")
	check[breaker.State](t, "state", 0, "closed", "open", "half_open", "disabled")
	check[breaker.Reason](t, "reason", 0, "", "failing", "time_over", "recovered", "undecided", "too_many_trips", "forgotten", "by_hand")
	check[breaker.StalePolicy](t, "stale_policy", 0, "fail_open", "keep_last", "fail_closed")
	check[breaker.Failure](t, "failure", 0,
		"store", "poll", "counts", "notify", "record", "loss", "fenced", "conflict", "lease", "settings", "hook", "not_running")
	check[bucket.Algorithm](t, "algorithm", 0, "continuous", "fixed")
	check[bucket.FailurePolicy](t, "failure_policy", 0, "local_share", "fail_open", "fail_closed")
	check[bucket.Source](t, "source", 0, "store", "policy", "lease")
	check[backoff.Mode](t, "mode", 0, "pace", "sleep")
	check[throttle.Source](t, "source", 0, "code", "apply", "file", "http")
	check[control.Result](t, "result", 0, "applied", "ended", "refused")
	check[retry.Reason](t, "reason", 0, "budget", "shed", "pushback", "deadline", "attempts", "canceled", "once", "off")
	check[sqlstore.Dialect](t, "dialect", 1, "PostgreSQL", "MySQL", "SQLite")
	check[sqlstore.TimeType](t, "time_type", 1, "Instant", "UTC", "UnixSeconds", "UnixMillis", "UnixMicros")
	check[statusz.Level](t, "level", 0, "ok", "warn", "bad")
}

// A marshaler is a value of an enumeration.
type marshaler interface {
	enum.Value
	encoding.TextMarshaler
}

// An unmarshaler is a pointer to one.
type unmarshaler[V any] interface {
	*V
	encoding.TextUnmarshaler
}

// check tests the enumeration V, whose words begin with that of first.
func check[V marshaler, P unmarshaler[V]](t *testing.T, kind string, first V, list ...string) {
	t.Run(fmt.Sprintf("%T", first), func(t *testing.T) {
		for i, word := range list {
			knows[V, P](t, first+V(i), word)
		}
		last := first + V(len(list)-1)
		want := strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
		if list[0] == "" {
			want = `""` + want
		}
		highest := V(math.MaxInt8) // of both types; more is tested where they are bytes
		for _, v := range []V{first - 1, last + 1, highest} {
			refuses(t, v, fmt.Sprintf("%s(%d)", kind, int(v)), want)
		}
		for _, text := range []string{"nonsense", "x" + list[1], " " + list[1], fmt.Sprintf("%s(%d)", kind, int(last+1)), "1", "é\xff"} {
			refusesText[V, P](t, last, text, want)
		}
		if list[0] != "" {
			refusesText[V, P](t, last, "", want)
		}
	})
}

// knows demands that a value has a word.
func knows[V marshaler, P unmarshaler[V]](t *testing.T, v V, word string) {
	t.Helper()
	if got := v.String(); got != word {
		t.Errorf("String of %d: got %q want %q", int(v), got, word)
	}
	if text, err := v.MarshalText(); string(text) != word || err != nil {
		t.Errorf("MarshalText of %d: got %q and error %v want %q", int(v), text, err, word)
	}
	read := ^v
	if err := P(&read).UnmarshalText([]byte(word)); read != v || err != nil {
		t.Errorf("UnmarshalText of %q: got %v and error %v want %v", word, read, err, v)
	}
}

// refuses demands that a value has no word.
func refuses[V marshaler](t *testing.T, v V, stands, want string) {
	t.Helper()
	if got := v.String(); got != stands {
		t.Errorf("String of %d: got %q want %q", int(v), got, stands)
	}
	want = fmt.Sprintf("%T is %s: want %s", v, stands, want)
	if text, err := v.MarshalText(); text != nil || err == nil || err.Error() != want {
		t.Errorf("MarshalText of %d: got %q and error %v want error %s", int(v), text, err, want)
	}
}

// refusesText demands that a text is no word, and changes nothing.
func refusesText[V marshaler, P unmarshaler[V]](t *testing.T, before V, text, want string) {
	t.Helper()
	v := before
	err := P(&v).UnmarshalText([]byte(text))
	want = fmt.Sprintf("%T is %q: want %s", v, text, want)
	if v != before || err == nil || err.Error() != want {
		t.Errorf("UnmarshalText of %q: got %v and error %v want %v and error %s", text, v, err, before, want)
	}
}

// TestAnErrorIsNoLongerThanItNeedsToBe, however long the text was.
func TestAnErrorIsNoLongerThanItNeedsToBe(t *testing.T) {
	var m throttle.Mode
	err := m.UnmarshalText([]byte(strings.Repeat("x", 1e6)))
	if want := `throttle.Mode is "` + strings.Repeat("x", 100) + `": want enforce, shadow or off`; err == nil || err.Error() != want {
		t.Errorf("error for a long text: got %v want %s", err, want)
	}
}

func TestWordsAreNotAllocated(t *testing.T) {
	for _, v := range []fmt.Stringer{throttle.Low, throttle.FaultOther, throttle.Shed, breaker.Disabled, bucket.SourceLease, backoff.Sleep} {
		if n := testing.AllocsPerRun(10, func() { _ = v.String() }); n > 0 {
			t.Errorf("allocations of String of %v: got %v want 0", v, n)
		}
	}
}
