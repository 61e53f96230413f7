package throttle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestThereAreFourStandardPriorities(t *testing.T) {
	th := build(t, throttle.Config{Priorities: throttle.StandardPriorities})
	for p, name := range []string{"high", "important", "medium", "low"} {
		priority := []throttle.Priority{throttle.High, throttle.Important, throttle.Medium, throttle.Low}[p]
		equal(t, "value of "+name, priority, throttle.Priority(p))
		equal(t, "name", priority.String(), name)
		times(1, th, priority, nil)
		wantAdmitted(t, th, priority, 1, throttle.Accepted, throttle.FaultNone)
		equal(t, "clamped", tier(th, priority).Clamped, 0)
	}
}

// Departure: Bulwark panics over a priority out of bounds. A service in trouble is no place for that.
func TestAPriorityOutOfBoundsIsTheLowestAndPanicsIfWanted(t *testing.T) {
	th := build(t, throttle.Config{})
	equal(t, "Do", th.Do(context.Background(), 4, returns(nil)), nil)
	wantAdmitted(t, th, throttle.Low, 1, throttle.Accepted, throttle.FaultNone)

	strict := build(t, throttle.Config{InvalidPriority: throttle.PanicPriority})
	_, recovered := panics(func() throttle.Priority { _ = strict.Do(context.Background(), 4, unwanted(t)); return 0 })
	equal(t, "PanicPriority panics", recovered != nil, true)
}

// At twice what the backend can take it is enough to shed the lower half, so that the upper half fares alike.
func TestHigherPrioritiesAreGivenABetterChance(t *testing.T) {
	const capacity = 40
	for name, c := range map[string]struct {
		perSecond int     // of each priority
		better    float64 // at least so much than the next lower one
	}{
		"twice what it can take": {20, 0.97},
		"four times":             {40, 1.5},
		"ten times":              {100, 1.2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := build(t, throttle.Config{Rand: seeded()})
				s := &server{perSecond: capacity}
				all := []throttle.Priority{throttle.High, throttle.Important, throttle.Medium, throttle.Low}
				traffic(th, s, c.perSecond, time.Minute, all...) // settle
				good := traffic(th, s, c.perSecond, 4*time.Minute, all...)
				for p := range throttle.Low {
					if got := float64(good[p]) / float64(good[p+1]); got < c.better {
						t.Errorf("calls served: got %d of %v, %d of %v want %v times as many", good[p], p, good[p+1], p+1, c.better)
					}
				}
				possible := min(capacity, c.perSecond) * 240
				if got := float64(good[throttle.High]) / float64(possible); got < 0.75 {
					t.Errorf("part of the High calls served: got %.2f want at least 0.75", got)
				}
				equal(t, "Low served less than half as often as High", good[throttle.Low] < good[throttle.High]/2, true)
			})
		})
	}
}

func TestUnderNormalConditionsAllPrioritiesAreTreatedEqually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := build(t, throttle.Config{Rand: unlucky})
		s := &server{perSecond: 1000}
		good := traffic(th, s, 50, 2*time.Minute, throttle.High, throttle.Important, throttle.Medium, throttle.Low)
		for p := range throttle.Priority(4) {
			equal(t, "served of "+p.String(), good[p], 50*120)
			equal(t, "probability of "+p.String(), th.RejectionProbability(p), 0)
		}
	})
}

func TestThePriorityIsAnArgument(t *testing.T) {
	th := build(t, throttle.Config{})
	value, err := throttle.Do(context.Background(), th, throttle.Medium, valued("World", nil))
	equal(t, "value", value, "World")
	equal(t, "error", err, nil)
	wantAdmitted(t, th, throttle.Medium, 1, throttle.Accepted, throttle.FaultNone)
}

func TestAPriorityInTheContextOverridesTheArgument(t *testing.T) {
	th := build(t, throttle.Config{})
	ctx := throttle.WithPriority(context.Background(), throttle.Medium)
	ctx = throttle.WithPriority(ctx, throttle.High)
	_, err := throttle.Do(ctx, th, throttle.Medium, func(ctx context.Context) (string, error) {
		equal(t, "priority in the function's context", throttle.PriorityFromContext(ctx, throttle.Low), throttle.High)
		return "World", nil
	})
	equal(t, "error", err, nil)
	wantAdmitted(t, th, throttle.High, 1, throttle.Accepted, throttle.FaultNone)
}
