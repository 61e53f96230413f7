package protocol_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// A call is a string here. Accept has returned the priority low for it.
func TestReceiver_priority(t *testing.T) {
	high := throttle.WithPriority(t.Context(), throttle.High)
	important := func(context.Context, string) throttle.Priority { return throttle.Important }
	outOfRange := func(context.Context, string) throttle.Priority { return -1 }
	type receiver = protocol.Receiver[string]
	for name, c := range map[string]struct {
		receiver
		ctx     context.Context
		trusted bool
		attempt int
		want    throttle.Priority
	}{
		"Accept":                   {receiver{}, t.Context(), false, 1, throttle.Low},
		"Priority":                 {receiver{Priority: important}, t.Context(), false, 1, throttle.Important},
		"a trusted sender":         {receiver{Priority: important}, t.Context(), true, 1, throttle.Low},
		"an outer handler":         {receiver{Priority: important}, high, true, 1, throttle.High},
		"retry":                    {receiver{Priority: important}, t.Context(), false, 2, throttle.Important},
		"retry, lowered":           {receiver{Priority: important, LowerRetries: true}, t.Context(), false, 2, throttle.Medium},
		"retry, the lowest":        {receiver{LowerRetries: true}, t.Context(), false, 2, throttle.Low},
		"retry, out of range":      {receiver{Priority: outOfRange, LowerRetries: true}, t.Context(), false, 2, -1},
		"retry, trusted":           {receiver{LowerRetries: true}, t.Context(), true, 2, throttle.Low},
		"retry, an outer handler":  {receiver{LowerRetries: true}, high, false, 2, throttle.High},
		"first attempt, no answer": {receiver{LowerRetries: true, Priority: important}, t.Context(), false, 0, throttle.Important},
	} {
		th, arrived := throttle.Must(throttle.New(throttle.Config{Name: "shop"})), ""
		c.Throttle = func(context.Context, string) *throttle.Throttle { return th }
		c.Exempt = func(context.Context, string) bool { return false }
		c.Arrived = func(ctx context.Context, e retry.ArrivalEvent) {
			arrived = fmt.Sprint(retry.FromContext(ctx).Number, " ", e)
		}
		ctx, got, p := c.Receive(c.ctx, "call", throttle.Low, c.trusted, c.attempt)
		if own, _ := protocol.Priority(ctx); got != th || p != c.want || own != c.want {
			t.Errorf("%s: got %v, in the context %v want %v", name, p, own, c.want)
		}
		want := ""
		if c.attempt > 1 {
			want = "2 retry shop: attempt 2 arrived"
		}
		if a := retry.FromContext(ctx); arrived != want || c.attempt > 1 && a.Throttle != th {
			t.Errorf("%s: got event %q, attempt %+v want %q", name, arrived, a, want)
		}
	}
}

func TestReceiver_throttle(t *testing.T) {
	earlier := throttle.WithTenant(t.Context(), "earlier")
	for call, want := range map[string]struct {
		throttled bool
		exempt    uint64
	}{"throttled": {true, 0}, "exempt": {false, 1}, "closed": {false, 0}} {
		th := throttle.Must(throttle.New(throttle.Config{Name: "shop"}))
		v := protocol.Receiver[string]{
			Throttle: func(_ context.Context, call string) *throttle.Throttle {
				if call == "closed" {
					return nil
				}
				return th
			},
			Exempt: func(_ context.Context, call string) bool { return call == "exempt" },
		}
		for tenant, of := range map[string]func(context.Context, string) string{
			"earlier": nil, "of " + call: func(_ context.Context, call string) string { return "of " + call },
		} {
			v.Tenant = of
			before := th.Stats().Exempt
			ctx, got, _ := v.Receive(earlier, call, throttle.Low, false, 2)
			if (got != nil) != want.throttled || th.Stats().Exempt != before+want.exempt || throttle.TenantFromContext(ctx) != tenant {
				t.Errorf("%s: got %v, tenant %q want %q, %+v", call, got, throttle.TenantFromContext(ctx), tenant, want)
			}
			if number := retry.FromContext(ctx).Number; number == 2 != want.throttled {
				t.Errorf("%s: got attempt %d", call, number)
			}
		}
	}
}

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
