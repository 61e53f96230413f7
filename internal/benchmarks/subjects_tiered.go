package main

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The names of the Tiered subjects that have bounds.
const (
	tieredAllowed    = "Tiered, allowed, low priority"
	tieredPositive   = "Tiered, allowed, low priority, P > 0"
	tieredMixed      = "Tiered, allowed, one in 100 rejected"
	tieredBucketEnds = "Tiered, allowed, a bucket ends"
	tieredShed       = "Tiered, shed, low priority"
)

// tiered returns calls through a throttle with the policy Tiered. They have the lowest priority where
// it matters, because the highest follows the formula of SRE.
func tiered() []*subject {
	policy := throttle.Config{Policy: throttle.Tiered}
	shedding := throttle.Config{Policy: throttle.Tiered, Rand: drawShed}
	return []*subject{
		healthy(tieredAllowed, throttle.Low, policy, func(t *throttle.Throttle) error {
			return t.Do(context.Background(), throttle.Low, noop)
		}),
		besideRejected(tieredPositive),
		mixed(tieredMixed, policy),
		bucketEnds(tieredBucketEnds, policy, 10*time.Second/120),
		shedCall(tieredShed, throttle.Low, shedding, 1),
	}
}

// besideRejected is an allowed call of the lowest priority, after the backend has rejected all calls of
// the highest. So its probability of being shed is small, but not 0.
func besideRejected(name string) *subject {
	ctx := context.Background()
	t := bench(throttle.Config{Policy: throttle.Tiered, Rand: drawAdmit})
	busy := returns(context.DeadlineExceeded)
	return &subject{
		name: name, pair: true, op: func() error { return t.Do(ctx, throttle.Low, noop) },
		prepare: func() { times(20, func() { _ = t.Do(ctx, throttle.High, busy) }) },
		good:    func(err error) bool { return err == nil && t.RejectionProbability(throttle.Low) > 0 },
	}
}
