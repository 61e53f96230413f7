package breaker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestDeadEndpointsAreDisabled holds the promise: an endpoint of which 80 to 100 % of the calls fail is disabled within
// 1.1 x N x (BreakerTimeout + SampleRate). Luck has a say: of 1,600 fleets with 80 and 90 % none was late when this was written.
func TestDeadEndpointsAreDisabled(t *testing.T) {
	type times struct{ timeout, rate time.Duration }
	settings := []times{{10 * time.Second, 5 * time.Second}, {30 * time.Second, 5 * time.Second}, {30 * time.Second, time.Second}, {2 * time.Minute, 5 * time.Second}}
	rates := []int{20, 100}
	settings, rates = settings[:size(len(settings), 1, 1)], rates[:size(len(rates), 1, 1)]
	for _, times := range settings {
		for _, n := range []int{5, 10} {
			for _, rps := range rates {
				t.Run(fmt.Sprintf("%v %v %d trips %d per second", times.timeout, times.rate, n, rps), func(t *testing.T) {
					c := breaker.Config{SampleRate: times.rate, BreakerTimeout: times.timeout, ConsecutiveFailureThreshold: n}
					for _, share := range []float64{0.8, 0.9, 0.95, 1} {
						deadFleets(t, c, rps, share)
					}
				})
			}
		}
	}
}

// deadFleets has a few fleets, each of three agents with a seed of its own, call an endpoint that fails.
func deadFleets(t *testing.T, c breaker.Config, rps int, share float64) {
	t.Helper()
	promised := time.Duration(1.1 * float64(c.ConsecutiveFailureThreshold) * float64(c.BreakerTimeout+c.SampleRate))
	late, worst := 0, time.Duration(0)
	fleets := size[uint64](8, 2, 1)
	for seed := range fleets {
		synctest.Test(t, func(t *testing.T) {
			k, f := breaker.Key{ID: "dead"}, newTraffic(seed, time.Minute)
			c := c
			c.Store, c.Poll = breaker.NewMemoryStore(), f.poll
			all := agents(t, 3, c)
			running(t, all...)
			begun := time.Now()
			f.flow(t.Context(), rps, k, share, all, func() bool {
				return time.Since(begun) < 2*promised && !inState(k, breaker.Disabled, all...)()
			})
			took := time.Since(begun)
			worst = max(worst, took)
			if took > promised {
				late++
			}
		})
	}
	if late > 0 {
		t.Errorf("%.0f %% failing: got %d of %d fleets later than %v, the last after %v: want none", 100*share, late, fleets, promised, worst)
	}
}

// TestAnOutageOfOneAgentsNetworkIsNoOutage has one agent of three see nothing but failures.
func TestAnOutageOfOneAgentsNetworkIsNoOutage(t *testing.T) {
	for _, tt := range []struct {
		reporters int
		want      breaker.State
	}{{1, breaker.Closed}, {2, breaker.Open}} {
		m, k := agent(t, breaker.Config{MinReporters: 2, Poll: polled(breaker.PollResult{Failures: 90, Successes: 10, Reporters: tt.reporters})}), breaker.Key{ID: "a"}
		sample(t, m)
		if s := m.Status(k).State; s != tt.want {
			t.Errorf("%d reporters of 2 that it takes: got state %v, want %v", tt.reporters, s, tt.want)
		}
	}
}

// TestAPoorEndpointIsNeverDisabled calls an endpoint of which 30 % of the calls fail for a day.
func TestAPoorEndpointIsNeverDisabled(t *testing.T) {
	for _, rps := range []int{1, 20} {
		t.Run(fmt.Sprintf("%d calls per second", rps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, f := breaker.Key{ID: "poor"}, newTraffic(uint64(rps), time.Minute)
				all := agents(t, 3, breaker.Config{Store: breaker.NewMemoryStore(), Poll: f.poll, ConsecutiveFailureThreshold: 5})
				running(t, all...)
				f.during(t.Context(), size(24*time.Hour, time.Hour, 10*time.Minute), rps, k, 0.3, all...)
				s := all[0].Status(k)
				if s.State == breaker.Disabled {
					t.Errorf("got it disabled, want never")
				}
				if made, refused := f.calls(k); refused > made/100 {
					t.Errorf("got %d calls refused and %d made, want at most 1 %%", refused, made)
				}
			})
		})
	}
}

// polled is a poll that always returns the same of the circuit "a".
func polled(r breaker.PollResult) breaker.PollFunc {
	return func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
		return map[breaker.Key]breaker.PollResult{{ID: "a"}: r}, nil
	}
}
