package throttle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

// interrogate uses every method of a throttle, from wherever it is called, and makes one call of Low priority.
func interrogate(t *testing.T, th *throttle.Throttle) {
	t.Helper()
	_, _ = th.Name(), th.Stats()
	_ = th.RejectionProbability(throttle.High)
	if err := th.Tune(func(u *throttle.Tuning) { u.Ratio += 0.01 }); err != nil {
		t.Errorf("Tune: got error %v want nil", err)
	}
	if err := th.Do(context.Background(), throttle.Low, returns(nil)); err != nil && !errors.Is(err, throttle.ErrShed) {
		t.Errorf("Do: got error %v want nil or ErrShed", err)
	}
	if call, err := th.Admit(context.Background(), throttle.Low); err == nil {
		call.Finish(throttle.Accepted)
	}
}

func TestTheFunctionMayCallTheThrottle(t *testing.T) {
	th := build(t, throttle.Config{})
	err := th.Do(context.Background(), throttle.High, func(ctx context.Context) error {
		interrogate(t, th)
		return th.Do(ctx, throttle.Important, func(ctx context.Context) error {
			equal(t, "in flight two deep", inFlight(th), 2)
			return th.Do(ctx, throttle.Medium, returns(errPlain))
		})
	}, func(_ context.Context, err error, _ bool) error {
		interrogate(t, th)
		return err
	})
	equal(t, "error from three deep", err, errPlain)
	for _, p := range []throttle.Priority{throttle.High, throttle.Important, throttle.Medium} {
		wantAdmitted(t, th, p, 1, throttle.Accepted, throttle.FaultOther)
	}
	wantAdmitted(t, th, throttle.Low, 4, throttle.Accepted, throttle.FaultNone)
	wantUsable(t, th)
}

func TestTheClassifierMayCallTheThrottle(t *testing.T) {
	var th *throttle.Throttle
	th = build(t, throttle.Config{Classify: func(context.Context, error) (throttle.Outcome, bool) {
		equal(t, "in flight while the classifier runs", tier(th, throttle.High).InFlight, 1)
		interrogate(t, th)
		return throttle.Rejected, true
	}})
	equal(t, "Do", th.Do(context.Background(), throttle.High, returns(errPlain)), errPlain)
	wantAdmitted(t, th, throttle.High, 1, throttle.Rejected, throttle.FaultOther)
	wantUsable(t, th)
}

func TestEveryHookMayCallTheThrottle(t *testing.T) {
	inside := false
	told := map[string]int{}
	hook := func(name string, th *throttle.Throttle) {
		if inside { // told of the call that a hook has made
			return
		}
		inside = true
		told[name]++
		interrogate(t, th)
		inside = false
	}
	th := shedding(t, throttle.Config{Hooks: throttle.Hooks{
		Created: func(th *throttle.Throttle) { hook("created", th) },
		Closed:  func(th *throttle.Throttle) { hook("closed", th) },
		Shed:    func(_ context.Context, e throttle.ShedEvent) { hook("shed", e.Throttle) },
		Started: func(ctx context.Context, e throttle.StartEvent) context.Context {
			hook("started", e.Throttle)
			return ctx
		},
		Finished: func(_ context.Context, e throttle.FinishEvent) { hook("finished", e.Throttle) },
		FellBack: func(_ context.Context, e throttle.FallbackEvent) { hook("fell back", e.Throttle) },
	}})
	_ = th.Do(context.Background(), throttle.High, unwanted(t), func(context.Context, error, bool) error { return nil })
	equal(t, "Close", th.Close(), nil)
	for _, name := range []string{"created", "closed", "shed", "started", "finished", "fell back"} {
		equal(t, name+": told", told[name] > 0, true)
	}
	wantUsable(t, th)
}

func TestAHookMayCloseTheThrottle(t *testing.T) {
	w := &witness{}
	hooks := w.hooks()
	hooks.Started = func(_ context.Context, e throttle.StartEvent) context.Context {
		equal(t, "Close", e.Throttle.Close(), nil)
		return nil
	}
	hooks.Closed = func(*throttle.Throttle) { w.note("closed") }
	th := build(t, throttle.Config{Hooks: hooks})
	equal(t, "Do", th.Do(context.Background(), throttle.High, func(ctx context.Context) error {
		equal(t, "context, when Started returns none", ctx, context.Background())
		return nil
	}), nil)
	equal(t, "Do after Close", th.Do(context.Background(), throttle.High, returns(nil)), nil)
	w.want(t, "closed", "finished")
	wantAdmitted(t, th, throttle.High, 2, throttle.Accepted, throttle.FaultNone)
}
