package main

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The names of subjects with the policy Tiered that bounds are set for.
const (
	tieredAllowed  = "Tiered, allowed, low priority"
	tieredDoubtful = "Tiered, allowed, low priority, P > 0"
	tieredMixed    = "Tiered, allowed, one in 100 rejected"
	tieredHurried  = "Tiered, allowed, a bucket ends"
	tieredShed     = "Tiered, shed, low priority"
)

// tiered are calls through a throttle with the policy Tiered, of the lowest priority where that makes a difference: the highest
// follows the formula of SRE.
func tiered() []*subject {
	policy := throttle.Config{Policy: throttle.Tiered}
	unfair := throttle.Config{Policy: throttle.Tiered, Rand: unlucky}
	return []*subject{
		healthy(tieredAllowed, throttle.Low, policy, func(t *throttle.Throttle) error {
			return t.Do(context.Background(), throttle.Low, noop)
		}),
		besideTheSick(tieredDoubtful),
		mixed(tieredMixed, policy),
		hurried(tieredHurried, policy, 10*time.Second/120),
		refusal(tieredShed, throttle.Low, unfair, 1),
	}
}

// besideTheSick is an allowed call of the lowest priority while the backend has rejected all of the highest, so that the
// probability of shedding it is small, but not 0.
func besideTheSick(name string) *subject {
	ctx := context.Background()
	t := bench(throttle.Config{Policy: throttle.Tiered, Rand: lucky})
	busy := returns(context.DeadlineExceeded)
	return &subject{
		name: name, pair: true, op: func() error { return t.Do(ctx, throttle.Low, noop) },
		prepare: func() { times(20, func() { _ = t.Do(ctx, throttle.High, busy) }) },
		good:    func(err error) bool { return err == nil && t.RejectionProbability(throttle.Low) > 0 },
	}
}
