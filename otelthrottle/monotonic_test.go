package otelthrottle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/otelthrottle"
	"github.com/spillway-go/spillway/throttle"
)

// counters are the metrics that must never fall.
func (s snapshot) counters() snapshot {
	return s.of(otelthrottle.MetricCalls, otelthrottle.MetricFallbacks, otelthrottle.MetricPriorityClamped, otelthrottle.MetricCallDuration)
}

// TestNothingEverFalls collects, at two readers' pace, while throttles of one name come and go with calls under way.
func TestNothingEverFalls(t *testing.T) {
	l := newLab(t, setup{})
	keeper := l.throttle(t, throttle.Config{Name: "db"})
	l.readDuring(t, snapshot.counters, func() {
		atRandom(8, 1, func(dice *rand.Rand) {
			for range 50 {
				th := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: l.tel.Hooks()}))
				var open []throttle.Call
				for range dice.IntN(20) {
					if call, err := th.Admit(context.Background(), throttle.Priority(dice.IntN(5))); err == nil {
						open = append(open, call)
					}
				}
				for n := range open {
					if n == len(open)/2 {
						_ = th.Close()
					}
					open[n].Finish(throttle.Outcome(dice.IntN(3)))
				}
				_ = th.Close()
			}
		})
	})
	_ = keeper.Close()
}

// TestCallsAfterCloseMakeNothingFall makes calls on a closed throttle, as somebody does who got it from a Group just before its
// eviction. They are untold; seen for a moment and lost again, they would look like a restart of the counter. The clock is where a
// collection can be caught in the middle.
func TestCallsAfterCloseMakeNothingFall(t *testing.T) {
	l := newLab(t, setup{})
	hooks := l.tel.Hooks()
	keeper := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks}))
	var evict func()
	evicted := throttle.Must(throttle.New(throttle.Config{Name: "db", Hooks: hooks, Now: func() time.Time {
		if f := evict; f != nil {
			evict = nil
			f()
		}
		return time.Time{}
	}}))
	times(10, evicted, throttle.High, nil)
	evict = func() {
		_ = evicted.Close()
		times(5, evicted, throttle.High, nil)
	}
	before := l.read(t) // reads the keeper, then the one that is evicted meanwhile
	l.read(t).wantRisen(t, before.counters())
	times(1, keeper, throttle.High, nil)
	l.read(t).wantRisen(t, before.counters())
}

// TestGroupIsOneSource evicts most members of a Group again and again.
func TestGroupIsOneSource(t *testing.T) {
	const keys, calls = 1000, 5000
	l := newLab(t, setup{})
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("hooks shared %v", shared), func(t *testing.T) {
			name := fmt.Sprintf("hosts %v", shared)
			hooks := l.tel.Hooks()
			group, err := throttle.NewGroup(func(string) throttle.Config {
				if !shared {
					hooks = l.tel.Hooks()
				}
				return throttle.Config{Name: name, Hooks: hooks}
			}, throttle.GroupConfig{Max: 50})
			if err != nil {
				t.Fatalf("NewGroup: got error %v want nil", err)
			}
			total := series(otelthrottle.MetricCalls, "throttle.name", name, "throttle.priority", "medium",
				"throttle.decision", "admitted", "throttle.outcome", "accepted")
			before := snapshot{}
			for i := range calls {
				th, err := group.Get(fmt.Sprint(i * 7 % keys))
				if err != nil {
					t.Fatalf("Get: got error %v want nil", err)
				}
				times(1, th, throttle.Medium, nil)
				if i%500 == 0 {
					now := l.read(t)
					now.wantRisen(t, before.counters())
					equal(t, "calls of all members", now[total], float64(i+1))
					before = now
				}
			}
			equal(t, "calls of all members", l.read(t)[total], calls)
			_ = group.Close()
			for key := range l.read(t).of(otelthrottle.MetricCalls) {
				t.Errorf("after the Group's Close: got %s want no series", key)
			}
		})
	}
}
