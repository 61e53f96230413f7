package protocol_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
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

func TestArrivals_Arrive(t *testing.T) {
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	for name, c := range map[string]struct {
		lower, fixed bool
		p, want      throttle.Priority
	}{
		"kept":         {false, false, throttle.Medium, throttle.Medium},
		"lowered":      {true, false, throttle.Medium, throttle.Low},
		"of High":      {true, false, throttle.High, throttle.Important},
		"fixed":        {true, true, throttle.Medium, throttle.Medium},
		"lowest":       {true, false, throttle.Low, throttle.Low},
		"out of range": {true, false, -1, -1},
	} {
		var got []string
		arrivals := protocol.NewArrivals(c.lower, retry.Hooks{Arrived: func(ctx context.Context, e retry.ArrivalEvent) {
			if retry.FromContext(ctx).Number != 2 {
				t.Errorf("%s: the hook has no attempt", name)
			}
			got = append(got, e.String())
		}})
		before := throttle.WithPriority(t.Context(), c.p)
		ctx, p := arrivals.Arrive(before, th, 2, c.p, c.fixed)
		if own, _ := protocol.Priority(ctx); p != c.want || own != c.want {
			t.Errorf("%s: got %v, in the context %v want %v", name, p, own, c.want)
		}
		if a := retry.FromContext(ctx); a.Number != 2 || a.Throttle != th {
			t.Errorf("%s: got attempt %+v want 2 of the throttle", name, a)
		}
		if want := []string{"retry shop: attempt 2 arrived"}; !slices.Equal(got, want) {
			t.Errorf("%s: got events %q want %q", name, got, want)
		}
	}
}

func TestNewArrivals_defaultHooks(t *testing.T) {
	t.Cleanup(func() { retry.SetDefaultHooks(retry.Hooks{}) })
	th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
	protocol.NewArrivals(false, retry.Hooks{}).Arrive(t.Context(), th, 2, throttle.Medium, false)
	n := 0
	retry.SetDefaultHooks(retry.Hooks{Arrived: func(context.Context, retry.ArrivalEvent) { n++ }})
	protocol.NewArrivals(false, retry.Hooks{}).Arrive(t.Context(), th, 2, throttle.Medium, false)
	if n != 1 {
		t.Errorf("got %d calls of the default hook want 1", n)
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
