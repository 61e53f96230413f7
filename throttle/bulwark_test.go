package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// The tests in the bulwark files hold what Spillway's users coming from Bulwark rely on: one test for each thing that its
// documentation says, the departures included, which say Departure.

// seeded returns draws that are random, and the same in every run.
func seeded() func() float64 { return rand.New(rand.NewPCG(1, 2)).Float64 }

func TestServiceUnavailableAndQuotaExhaustionAreSignsOfOverload(t *testing.T) {
	for name, err := range map[string]error{"unavailable": faults.Unavailable(0), "quota": faults.ResourceExhausted()} {
		t.Run(name, func(t *testing.T) {
			th := build(t, throttle.Config{Rand: lucky})
			times(100, th, throttle.High, err)
			equal(t, "probability after 100 of them", th.RejectionProbability(throttle.High) > 0.5, true)
		})
	}
}

func TestTheTrafficFlowIsAdjustedToWhatTheBackendCanTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: seeded()})
		s := &server{perSecond: 20}
		for _, perSecond := range []int{20, 10, 40} {
			s.perSecond = perSecond
			traffic(th, s, 200, 2*time.Minute, throttle.High) // settle
			s.sent = 0
			traffic(th, s, 200, 2*time.Minute, throttle.High)
			got, want := float64(s.sent)/120, 2*float64(perSecond)
			if got < 0.8*want || got > 1.2*want {
				t.Errorf("calls per second sent to a backend for %d: got %.1f want about %.0f", perSecond, got, want)
			}
		}
	})
}

func TestCallsThatExceedTheLimitFailLocallyAndAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: seeded()})
		s, failed := &server{perSecond: 10}, 0
		const calls = 10_000
		for range calls {
			if err := th.Do(t.Context(), throttle.High, s.serve); errors.Is(err, throttle.ErrShed) {
				failed++
			}
			time.Sleep(10 * time.Millisecond)
		}
		equal(t, "calls sent and calls that failed locally", s.sent+failed, calls)
		equal(t, "most failed locally", failed > calls/2, true)
	})
}

func TestUnderNormalConditionsAllTrafficFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: unlucky})
		for i := range 10_000 {
			err := []error{nil, nil, nil, errPlain, faults.NotFound, faults.Bad()}[i%6]
			equal(t, "error", th.Do(t.Context(), throttle.Priority(i%4), returns(err)), err)
			time.Sleep(10 * time.Millisecond)
		}
		for p := range throttle.Priority(4) {
			equal(t, "probability of "+p.String(), th.RejectionProbability(p), 0)
			w := tier(th, p).Window
			equal(t, "requests equal accepts of "+p.String(), w.Requests(), w.Accepted)
		}
	})
}

func TestNoCallIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := shedding(t, throttle.Config{MinimumRate: 1})
		began := time.Now()
		for p := range throttle.Priority(4) {
			for range 1000 {
				go func() {
					_ = th.Do(t.Context(), p, func(context.Context) error { time.Sleep(time.Hour); return nil })
				}()
			}
		}
		synctest.Wait()
		equal(t, "time that the throttle took", time.Since(began), 0)
		equal(t, "High calls in flight", tier(th, throttle.High).InFlight, 0)
		equal(t, "other calls in flight", inFlight(th), 3000)
		time.Sleep(time.Hour)
	})
}

func TestAFunctionIsWrapped(t *testing.T) {
	th := build(t, throttle.Config{})
	equal(t, "good", th.Do(context.Background(), throttle.Medium, returns(nil)), nil)
	equal(t, "bad", th.Do(context.Background(), throttle.Medium, returns(errPlain)), errPlain)
	value, err := throttle.Do(context.Background(), th, throttle.Medium, valued("Hello", nil))
	equal(t, "value", value, "Hello")
	equal(t, "error", err, nil)
}

// Departure: Bulwark compares with ==, which no wrapping survives.
func TestAShedCallIsKnownByErrorsIs(t *testing.T) {
	err := shedding(t, throttle.Config{}).Do(context.Background(), throttle.High, unwanted(t))
	equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), true)
	equal(t, "err == ErrShed", err == throttle.ErrShed, false) //nolint:errorlint // that is the departure
}

func TestStandardErrorsAreNoRejections(t *testing.T) {
	th := build(t, throttle.Config{Rand: unlucky})
	times(1000, th, throttle.High, errors.New("internal error"))
	equal(t, "probability", th.RejectionProbability(throttle.High), 0)
	wantAdmitted(t, th, throttle.High, 1000, throttle.Accepted, throttle.FaultOther)
}

func TestErrorsThatAreMarkedAreRejections(t *testing.T) {
	th := build(t, throttle.Config{Rand: lucky})
	times(1000, th, throttle.High, throttle.RejectedError(errors.New("internal error")))
	equal(t, "probability", th.RejectionProbability(throttle.High), 1000./1060)
	wantAdmitted(t, th, throttle.High, 1000, throttle.Rejected, throttle.FaultOther)
}

func TestTheMarkIsTakenOffTheError(t *testing.T) {
	internal := errors.New("internal error")
	err := build(t, throttle.Config{}).Do(context.Background(), throttle.Medium, returns(throttle.RejectedError(internal)))
	equal(t, "error", err, internal)
}

func TestMarkedErrorsNeedNoClassifier(t *testing.T) {
	th := build(t, throttle.Config{Classify: func(context.Context, error) (throttle.Outcome, bool) {
		t.Error("got the classifier asked, want it left alone")
		return throttle.Accepted, true
	}})
	times(1, th, throttle.High, throttle.RejectedError(errPlain))
	wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultOther)
}

// Departure: Bulwark has one classifier for the whole process, a variable.
func TestTheClassifierBelongsToItsThrottle(t *testing.T) {
	reset := throttle.RejectIf(func(err error) bool { return errors.Is(err, syscall.ECONNRESET) })
	with, without := build(t, throttle.Config{Classify: reset}), build(t, throttle.Config{})
	err := fmt.Errorf("read: %w", syscall.ECONNRESET)
	times(1, with, throttle.High, err)
	times(1, without, throttle.High, err)
	wantAdmitted(t, with, throttle.High, 1, throttle.Rejected, throttle.FaultOther)
	wantAdmitted(t, without, throttle.High, 1, throttle.Accepted, throttle.FaultOther)
}

func TestAClassifierExtendsTheDefault(t *testing.T) {
	th := build(t, throttle.Config{Classify: throttle.First(
		throttle.RejectIf(func(err error) bool {
			var slow interface{ Timeout() bool }
			return errors.As(err, &slow) && slow.Timeout()
		}),
		throttle.RejectIf(func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }),
	)})
	for _, err := range []error{timeout(true), syscall.ECONNRESET, faults.Unavailable(0), faults.ResourceExhausted()} {
		times(1, th, throttle.High, err)
	}
	equal(t, "rejected", tier(th, throttle.High).Ended.Outcome(throttle.Rejected), 4)
	times(1, th, throttle.High, errPlain)
	equal(t, "accepted", tier(th, throttle.High).Ended.Outcome(throttle.Accepted), 1)
}

func TestAClassifierMayListWhatIsGoodOrWhatIsBad(t *testing.T) {
	listed := func(err error) bool { return errors.Is(err, io.EOF) }
	everything := func(error) bool { return true }
	for name, c := range map[string]struct {
		classify            throttle.Classifier
		listed, busy, plain throttle.Outcome
	}{
		"what is good": {
			throttle.First(throttle.AcceptIf(listed), throttle.RejectIf(everything)),
			throttle.Accepted, throttle.Rejected, throttle.Rejected,
		},
		"what is bad": {
			throttle.First(throttle.RejectIf(listed), throttle.AcceptIf(everything)),
			throttle.Rejected, throttle.Accepted, throttle.Accepted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for err, want := range map[error]throttle.Outcome{io.EOF: c.listed, errBusy: c.busy, errPlain: c.plain} {
				th := build(t, throttle.Config{Classify: c.classify})
				times(1, th, throttle.High, err)
				equal(t, fmt.Sprintf("outcome of %v", err), tier(th, throttle.High).Ended.Outcome(want), 1)
			}
		})
	}
}

// Departure: PermissionDenied is a value, not a function, as it is in package faults.
func TestFaultsAreUnderstood(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want throttle.Outcome
	}{
		"Bad":               {faults.Bad(), throttle.Accepted},
		"PermissionDenied":  {faults.PermissionDenied, throttle.Accepted},
		"Unauthenticated":   {faults.Unauthenticated, throttle.Accepted},
		"NotFound":          {faults.NotFound, throttle.Accepted},
		"ResourceExhausted": {faults.ResourceExhausted(), throttle.Rejected},
		"Unavailable":       {faults.Unavailable(0), throttle.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			th := build(t, throttle.Config{})
			err := th.Do(context.Background(), throttle.Medium, returns(c.err))
			equal(t, "error", err, c.err)
			equal(t, "calls "+c.want.String(), tier(th, throttle.Medium).Ended.Outcome(c.want), 1)
		})
	}
}

func TestSporadicServerErrorsDoNotShedOnALargeScale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: unlucky})
		for i := range 10_000 {
			err := []error{nil, errBusy}[bit(i%10 == 0)]
			equal(t, "error", th.Do(t.Context(), throttle.Low, returns(err)), err)
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// Departure: deadlines need no classifier to count.
func TestDeadlinesAreRejections(t *testing.T) {
	th := build(t, throttle.Config{Rand: lucky})
	times(100, th, throttle.High, fmt.Errorf("get: %w", context.DeadlineExceeded))
	wantAdmitted(t, th, throttle.High, 100, throttle.Rejected, throttle.FaultTimeout)
}

func TestTheFallbackServesWhatWasDroppedAndWhatFailed(t *testing.T) {
	for name, c := range map[string]struct {
		th    *throttle.Throttle
		err   error
		local bool
	}{
		"dropped": {shedding(t, throttle.Config{}), nil, true},
		"failed":  {build(t, throttle.Config{}), errPlain, false},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := throttle.Do(context.Background(), c.th, throttle.High, valued("call", c.err),
				func(_ context.Context, err error, local bool) (string, error) {
					equal(t, "local", local, c.local)
					equal(t, "errors.Is(err, ErrShed)", errors.Is(err, throttle.ErrShed), c.local)
					return "fallback", nil
				})
			equal(t, "value", value, "fallback")
			equal(t, "error", err, nil)
		})
	}
}

func TestContextsReachTheFunctionAndTheirEndIsRespected(t *testing.T) {
	type key struct{}
	th := build(t, throttle.Config{})
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, 1))
	_ = th.Do(ctx, throttle.High, func(ctx context.Context) error {
		equal(t, "value", ctx.Value(key{}), any(1))
		cancel()
		equal(t, "error of the function's context", ctx.Err(), context.Canceled)
		return nil
	})
	equal(t, "Do", th.Do(ctx, throttle.High, unwanted(t)), context.Canceled)
}
