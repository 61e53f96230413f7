package breaker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// TestSlowPollsAreNotMadeUpFor has one poll take longer than three samples: there is one as soon as it is over, and then each is in its time again.
func TestSlowPollsAreNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Duration
		var first time.Time
		stop := running(t, agent(t, breaker.Config{
			SampleRate: time.Second, ObservabilityWindow: time.Minute, PollTimeout: time.Minute,
			Poll: func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) {
				mu.Lock()
				if first.IsZero() {
					first = time.Now()
				}
				at = append(at, time.Since(first))
				n := len(at)
				mu.Unlock()
				if n == 1 {
					time.Sleep(3500 * time.Millisecond)
				}
				return nil, nil
			},
		}))
		time.Sleep(10 * time.Second)
		stop()
		mu.Lock()
		defer mu.Unlock()
		ms := time.Millisecond
		if want := []time.Duration{0, 3500 * ms, 4000 * ms, 5000 * ms, 6000 * ms}; len(at) < len(want) || !slices.Equal(at[:len(want)], want) {
			t.Errorf("got polls at %v want %v", at, want)
		}
	})
}
