package breaker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
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
			k, f := breaker.Key{ID: "dead"}, newTraffic(seed)
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

// TestAPoorEndpointIsNeverDisabled calls an endpoint of which 30 % of the calls fail for a day.
func TestAPoorEndpointIsNeverDisabled(t *testing.T) {
	for _, rps := range []int{1, 20} {
		bubble(t, fmt.Sprintf("%d calls per second", rps), func(t *testing.T) {
			k, f := breaker.Key{ID: "poor"}, newTraffic(uint64(rps))
			all := agents(t, 3, breaker.Config{Store: breaker.NewMemoryStore(), Poll: f.poll, ConsecutiveFailureThreshold: 5})
			running(t, all...)
			f.during(t.Context(), size(24*time.Hour, time.Hour, 10*time.Minute), rps, k, 0.3, all...)
			s := all[0].Status(k)
			equals(t, s.State == breaker.Disabled, false, "disabled")
			if made, refused := f.calls(k); refused > made/100 {
				t.Errorf("got %d calls refused and %d made, want at most 1 %%", refused, made)
			}
		})
	}
}

// TestTheStoresClockIsOff runs a fleet whose store's clock is an hour off from that of the agents.
func TestTheStoresClockIsOff(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour, -25 * time.Hour} {
		bubble(t, by.String(), func(t *testing.T) { skewed(t, by) })
	}
}

func skewed(t *testing.T, by time.Duration) {
	k, f := breaker.Key{ID: "a"}, newTraffic(1)
	var last atomic.Pointer[breaker.Event]
	all := agents(t, 3, breaker.Config{
		Store: offClock{breaker.NewMemoryStore(), by}, Poll: f.poll,
		Hooks: breaker.Hooks{Changed: func(e breaker.Event) { last.Store(&e) }},
	})
	running(t, all...)
	f.during(t.Context(), 4*time.Second, 20, k, 1, all...)
	eventually(t, 3*time.Second, "it is open", inState(k, breaker.Open, all...))
	if off := time.Until(last.Load().At) - by; off > time.Second || off < -2*time.Second {
		t.Errorf("got a change at %v from the store's time, want at it", off)
	}
	if r := all[2].Status(k).RetryAfter; r < 28*time.Second || r > 30*time.Second {
		t.Errorf("got RetryAfter %v just after it opened, want about 30 s", r)
	}
	took := eventually(t, 31*time.Second, "it is half-open", inState(k, breaker.HalfOpen, all...))
	if took < 28*time.Second {
		t.Errorf("it was half-open after %v, want BreakerTimeout", took)
	}
	f.during(t.Context(), 11*time.Second, 20, k, 0, all...)
	eventually(t, 0, "it is closed", inState(k, breaker.Closed, all...))
	must(t, all[0].Disable(t.Context(), k))
	eventually(t, 2*time.Second, "all know", inState(k, breaker.Disabled, all...))
}

// offClock is a store whose clock is off by so much from everybody else's.
type offClock struct {
	store.Store
	by time.Duration
}

func (s offClock) Versions(ctx context.Context) (store.Versions, error) {
	v, err := s.Store.Versions(ctx)
	v.Now = v.Now.Add(s.by)
	return v, err
}

func (s offClock) Probe(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
	there := make([]store.ProbeRequest, len(requests))
	for i, r := range requests {
		there[i] = r
		there[i].Since = r.Since.Add(-s.by)
	}
	return s.Store.Probe(ctx, there)
}
