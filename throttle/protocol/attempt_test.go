package protocol_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

func TestParseAttempt(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "2": 2, "10": 10, "99": 99, "100": 0, "0": 0, "-1": 0, "+1": 0, "01": 0, "x": 0, "": 0, "99999999999999999999": 0,
	} {
		if got := protocol.ParseAttempt(text); got != want {
			t.Errorf("%q: got %d want %d", text, got, want)
		}
	}
}

// FuzzFields wants no panic, and values in range, whatever an untrusted sender writes into its fields.
func FuzzFields(f *testing.F) {
	for _, text := range []string{"", "2", "+2", "1500", "-1", "soon", "99999999999999999999", "high", "p15", "p16", "HIGH", "\x00"} {
		f.Add(text, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, times uint8) {
		if n := protocol.ParseAttempt(text); n != 0 && strconv.Itoa(n) != text || n < 0 || n > protocol.MaxAttempt {
			t.Errorf("attempt %q: got %d", text, n)
		}
		var values []string
		for range times {
			values = append(values, text)
		}
		if delay, stop := protocol.Pushback(values); delay < 0 || stop && delay != time.Second {
			t.Errorf("pushback %q: got %v, %t", values, delay, stop)
		}
		want := throttle.Low
		if p, err := throttle.ParsePriority(text); err == nil && times == 1 {
			want = max(p, throttle.Important)
		}
		trust := throttle.Trust{Peer: func(context.Context) bool { return true }, Ceiling: throttle.Important, Default: throttle.Low}
		if p, _ := protocol.Accept(t.Context(), trust, values); p != want {
			t.Errorf("priority %q: got %v want %v", values, p, want)
		}
	})
}
