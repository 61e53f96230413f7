package throttle

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"
)

// TestDecisions_age compares the probability that each call was decided with, which hooks get, with
// the exact ones since the bucket began or since the last maxAge calls.
func TestDecisions_age(t *testing.T) {
	const maxAge = 128
	bothPolicies(t, func(t *testing.T, policy Policy) {
		for seed := range sized(uint64(20), 4) {
			var used float64
			var exact []float64
			l := newLab(t, seed, Config{
				Policy: policy, Window: time.Duration(1+seed) * time.Second, MinimumRate: 1, Priorities: 1 + int(seed)%5,
				Hooks: Hooks{
					Shed: func(_ context.Context, e ShedEvent) { used = e.Probability },
					Started: func(ctx context.Context, e StartEvent) context.Context {
						used = e.Probability
						exact = append(exact, e.Throttle.RejectionProbability(e.Priority)) // a refresh may have begun an alert
						return ctx
					},
				},
			})
			lowest := Priority(l.priorities - 1)
			bucket, began := int64(-1), 0
			l.history(sized(4000, 1500), func() {
				if b := int64(l.elapsed() / l.window.Width()); b != bucket {
					bucket, began = b, len(exact)
				}
				exact = append(exact, l.RejectionProbability(lowest))
				l.call(lowest, nil)
				last := used
				exact = append(exact, l.RejectionProbability(lowest))
				oldest := max(0, min(began, len(exact)-maxAge))
				if !slices.ContainsFunc(exact[oldest:], func(p float64) bool { return math.Abs(p-last) < 0.01 }) {
					t.Fatalf("seed %d: decided at %v, exact was %v", seed, last, exact[max(oldest, len(exact)-20):])
				}
			})
		}
	})
}

// TestDecisions_clockJumpsBack has a clock that jumps back by a minute. When the accepted calls of the
// second visit leave the window, its rejections remain, and calls must be shed.
func TestDecisions_clockJumpsBack(t *testing.T) {
	l := newLab(t, 1, Config{Policy: SRE, Window: 10 * time.Second, Rand: func() float64 { return 0 }})
	calls := func(n int, at time.Time, err error) {
		l.now = at
		l.calls(n, High, err)
	}
	then := l.now
	calls(100, then, nil)
	calls(1, then, context.DeadlineExceeded)
	calls(1, then.Add(time.Minute), nil) // the calls before have left the window
	calls(100, then.Add(-time.Second), nil)
	calls(60, then, context.DeadlineExceeded)
	if got := l.RejectionProbability(High); got != 0 {
		t.Fatalf("with a hundred accepted calls in the window: got probability %v, want 0", got)
	}
	l.now = then.Add(9500 * time.Millisecond)
	if l.RejectionProbability(High) == 0 || l.call(High, nil) {
		t.Errorf("with 60 rejections alone in the window: got probability %v, and a call was admitted", l.RejectionProbability(High))
	}
}
