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

func TestAContextCarriesItsPriority(t *testing.T) {
	ctx := context.Background()
	equal(t, "none: the default", throttle.PriorityFromContext(ctx, throttle.Medium), throttle.Medium)
	low := throttle.WithPriority(ctx, throttle.Low)
	equal(t, "one", throttle.PriorityFromContext(low, throttle.Medium), throttle.Low)
	high := throttle.WithPriority(low, throttle.High)
	equal(t, "one over another: the last, also if it is the zero value", throttle.PriorityFromContext(high, throttle.Medium), throttle.High)
	equal(t, "the other one stays as it is", throttle.PriorityFromContext(low, throttle.Medium), throttle.Low)
	child, cancel := context.WithCancel(low)
	defer cancel()
	equal(t, "a child has its parent's", throttle.PriorityFromContext(child, throttle.High), throttle.Low)
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

func TestWhatIsDoneAboutAPriorityOutOfRange(t *testing.T) {
	for _, n := range []int{1, 4, 16} {
		lowest := throttle.Priority(n - 1)
		for p := range everyPriority {
			what := fmt.Sprintf("%d of %d", int8(p), n)
			inRange := p >= 0 && p <= lowest
			clamped, err := throttle.ClampPriority(p, n)
			equal(t, "ClampPriority error, "+what, err, nil)
			refused, err := throttle.RejectPriority(p, n)
			equal(t, "RejectPriority refuses, "+what, err != nil, !inRange)
			var kept throttle.Priority
			recovered := survive(func() { kept, _ = throttle.PanicPriority(p, n) })
			equal(t, "PanicPriority panics, "+what, recovered != nil, !inRange)
			if inRange {
				equal(t, "ClampPriority, "+what, clamped, p)
				equal(t, "RejectPriority, "+what, refused, p)
				equal(t, "PanicPriority, "+what, kept, p)
			} else {
				equal(t, "ClampPriority, "+what, clamped, lowest)
				equal(t, "PanicPriority says what RejectPriority does, "+what, recovered, any(err.Error()))
			}
		}
	}
	_, err := throttle.RejectPriority(-3, 4)
	equal(t, "message", err.Error(), "throttle: priority -3 is out of range: want 0 (high) to 3 (low)")
}

func TestAPriorityOutOfRangeIsClampedAndNeverPromoted(t *testing.T) {
	for _, n := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(n, " priorities"), func(t *testing.T) {
			var told throttle.Priority
			th := build(t, throttle.Config{Priorities: n, Hooks: throttle.Hooks{
				Started: func(ctx context.Context, e throttle.StartEvent) context.Context { told = e.Priority; return ctx },
			}})
			lowest := throttle.Priority(n - 1)
			for p := range everyPriority {
				want := p
				if p < 0 || p > lowest {
					want = lowest
				}
				equal(t, "Do", th.Do(context.Background(), p, returns(nil)), nil)
				equal(t, fmt.Sprintf("priority of a call of %d", int8(p)), told, want)
			}
			for _, got := range th.Stats().Priorities {
				calls, clamped := uint64(1), uint64(0)
				if got.Priority == lowest {
					calls, clamped = 257-uint64(n), 256-uint64(n)
				}
				equal(t, fmt.Sprintf("calls of %v", got.Priority), got.Ended.Sum(), calls)
				equal(t, fmt.Sprintf("clamped to %v", got.Priority), got.Clamped, clamped)
			}
		})
	}
}

func TestAPriorityOutOfRangeMayBeRefused(t *testing.T) {
	w := &witness{}
	th := build(t, throttle.Config{InvalidPriority: throttle.RejectPriority, Hooks: w.hooks()})
	for p := range everyPriority {
		want := p < 0 || p >= 4
		err := th.Do(context.Background(), p, returns(nil), unwantedFallback(t))
		_, generic := throttle.Do(context.Background(), th, p, valued(1, nil))
		equal(t, fmt.Sprintf("refused, %d", int8(p)), err != nil && generic != nil, want)
		equal(t, "a refusal is a shed", errors.Is(err, throttle.ErrShed) || errors.Is(generic, throttle.ErrShed), false)
	}
	for _, got := range th.Stats().Priorities {
		equal(t, "calls", got.Ended.Sum(), 2)
		equal(t, "clamped", got.Clamped, 0)
	}
	equal(t, "moments told", len(w.moments), 2*2*4)
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
	want := th.RejectionProbability(throttle.Low)
	equal(t, "probability of low is not 0", want > 0, true)
	equal(t, "probability of high", th.RejectionProbability(throttle.High), 0)
	for _, p := range []throttle.Priority{-128, -1, 4, 127} {
		equal(t, fmt.Sprintf("probability of %d", int8(p)), th.RejectionProbability(p) > 0, true)
	}
}
