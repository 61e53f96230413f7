package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

func FuzzParsePriority(f *testing.F) {
	for p := range everyPriority {
		f.Add(p.String())
	}
	for _, word := range []string{
		"", " ", "p", "P4", "p 4", "p04", "p+4", "p-0", "p4.0", "p4 ", " p4", "p4\n", "p0x4", "p1_0", "p1e1", "p４",
		"p0", "p3", "p16", "p127", "p128", "p256", "p260", "p18446744073709551620", "4", "-1", "High", "high ", " high",
		"high,high", "high;q=1", "hi", "critical", "\x00", "hıgh",
	} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		want, valid := throttle.Priority(throttle.MaxPriorities-1), false
		for p := range throttle.Priority(throttle.MaxPriorities) {
			if p.String() == word {
				want, valid = p, true
			}
		}
		if p, err := throttle.ParsePriority(word); p != want || (err == nil) != valid {
			t.Errorf("ParsePriority(%q): got %v and error %v want %v, valid: %v", word, p, err, want, valid)
		}
	})
}

func TestAContextCarriesItsPriorityAndItsTenant(t *testing.T) {
	low := throttle.WithPriority(t.Context(), throttle.Low)
	high := throttle.WithPriority(low, throttle.High)
	ann := throttle.WithTenant(low, "ann")
	child, cancel := context.WithCancel(ann)
	defer cancel()
	for name, c := range map[string]struct {
		ctx      context.Context
		priority throttle.Priority // with Medium as the default
		tenant   string
	}{
		"neither":                          {t.Context(), throttle.Medium, ""},
		"a priority":                       {low, throttle.Low, ""},
		"another, also if it is the zero":  {high, throttle.High, ""},
		"a tenant":                         {throttle.WithTenant(t.Context(), "bob"), throttle.Medium, "bob"},
		"both":                             {ann, throttle.Low, "ann"},
		"a child has its parent's":         {child, throttle.Low, "ann"},
		"another tenant keeps the first's": {throttle.WithTenant(ann, "bob"), throttle.Low, "bob"},
		"another priority keeps the first": {throttle.WithPriority(ann, throttle.High), throttle.High, "ann"},
	} {
		equal(t, name+": priority", throttle.PriorityFromContext(c.ctx, throttle.Medium), c.priority)
		equal(t, name+": tenant", throttle.TenantFromContext(c.ctx), c.tenant)
	}
}

func TestThePriorityOfTheContextOverridesTheArgument(t *testing.T) {
	th := build(t, throttle.Config{})
	ctx := throttle.WithPriority(context.Background(), throttle.High)
	_ = th.Do(ctx, throttle.Low, returns(nil))
	_, _ = throttle.Do(ctx, th, throttle.Medium, valued(1, nil))
	call, _ := th.Admit(ctx, throttle.Important)
	call.Done(nil)
	_ = th.Do(ctx, 99, returns(nil))
	wantAdmitted(t, th, throttle.High, 4, throttle.Accepted, throttle.FaultNone)
	equal(t, "clamped", tier(th, throttle.Low).Clamped, 0)

	_ = th.Do(throttle.WithPriority(ctx, 99), throttle.High, returns(nil))
	equal(t, "clamped, when the context's is out of range", tier(th, throttle.Low).Clamped, 1)
}

// TestAPriorityOutOfRange is clamped to the lowest and never promoted, or it is refused.
func TestAPriorityOutOfRange(t *testing.T) {
	for _, n := range []int{1, 4, 16} {
		var told throttle.Priority
		var w witness
		lowest := throttle.Priority(n - 1)
		clamps := build(t, throttle.Config{Priorities: n, Hooks: throttle.Hooks{
			Started: func(ctx context.Context, e throttle.StartEvent) context.Context { told = e.Priority; return ctx },
		}})
		refuses := build(t, throttle.Config{Priorities: n, InvalidPriority: throttle.RejectPriority, Hooks: w.hooks()})
		for p := range everyPriority {
			what := fmt.Sprintf("%d of %d: ", int8(p), n)
			inRange := p >= 0 && p <= lowest
			want := p
			if !inRange {
				want = lowest
			}
			clamped, err := throttle.ClampPriority(p, n)
			equal(t, what+"error of ClampPriority", err, nil)
			equal(t, what+"ClampPriority", clamped, want)
			equal(t, what+"Do", clamps.Do(t.Context(), p, succeed), nil)
			equal(t, what+"priority of the call", told, want)

			refused, reason := throttle.RejectPriority(p, n)
			var kept throttle.Priority
			recovered := survive(func() { kept, _ = throttle.PanicPriority(p, n) })
			err = refuses.Do(t.Context(), p, succeed, unwantedFallback(t))
			_, generic := throttle.Do(t.Context(), refuses, p, valued(1, nil))
			if inRange {
				equal(t, what+"RejectPriority", refused, p)
				equal(t, what+"PanicPriority", kept, p)
				equal(t, what+"errors and panics", reason == nil && err == nil && generic == nil && recovered == nil, true)
				continue
			}
			equal(t, what+"Do and Do[T] are refused", err != nil && generic != nil, true)
			equal(t, what+"a refusal is a shed", errors.Is(err, throttle.ErrShed) || errors.Is(generic, throttle.ErrShed), false)
			equal(t, what+"PanicPriority says what RejectPriority does", recovered, any(reason.Error()))
		}
		for p, got := range clamps.Stats().Priorities {
			calls, clamped := uint64(1), uint64(0)
			if got.Priority == lowest {
				calls, clamped = 257-uint64(n), 256-uint64(n)
			}
			equal(t, fmt.Sprintf("calls of %v", got.Priority), got.Ended.Sum(), calls)
			equal(t, fmt.Sprintf("clamped to %v", got.Priority), got.Clamped, clamped)
			equal(t, "calls if others are refused", refuses.Stats().Priorities[p].Ended.Sum(), 2)
			equal(t, "clamped if others are refused", refuses.Stats().Priorities[p].Clamped, 0)
		}
		equal(t, "lines of the hooks", len(w.lines), 1+2*2*n)
	}
	_, err := throttle.RejectPriority(-3, 4)
	equal(t, "message", err.Error(), "throttle: priority -3 is out of range: want 0 (high) to 3 (low)")
}

func TestWhatInvalidPriorityReturnsIsClampedToo(t *testing.T) {
	for answer, want := range map[throttle.Priority]throttle.Priority{
		throttle.Important: throttle.Important, 50: throttle.Low, -50: throttle.Low,
	} {
		asked := 0
		th := build(t, throttle.Config{InvalidPriority: func(p throttle.Priority, n int) (throttle.Priority, error) {
			asked++
			equal(t, "priority asked about", p, 9)
			equal(t, "number of priorities", n, 4)
			return answer, nil
		}})
		_ = th.Do(context.Background(), 9, returns(nil))
		_ = th.Do(context.Background(), throttle.High, returns(nil))
		equal(t, "times asked", asked, 1)
		wantAdmitted(t, th, want, 1, throttle.Accepted, throttle.FaultNone)
		equal(t, fmt.Sprintf("clamped to %v", want), tier(th, want).Clamped, 1)
	}
}

func TestRejectionProbabilityOfAPriorityOutOfRangeIsTheLowest(t *testing.T) {
	th := build(t, throttle.Config{Rand: unlucky})
	overload(t, th, throttle.Low)
	equal(t, "probability of high", th.RejectionProbability(throttle.High), 0)
	for _, p := range []throttle.Priority{-128, -1, throttle.Low, 4, 127} {
		equal(t, fmt.Sprintf("probability of %d", int8(p)), th.RejectionProbability(p) > 0, true)
	}
}
