package protocol_test

import (
	"context"
	"slices"
	"testing"

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
