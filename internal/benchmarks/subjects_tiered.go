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
		positive(context.Background(), tieredPositive, throttle.Low, throttle.Config{Policy: throttle.Tiered, Background: -1, Rand: drawAdmit}, 1),
		mixed(tieredMixed, policy),
		bucketEnds(tieredBucketEnds, policy, 10*time.Second/120),
		shedCall(context.Background(), tieredShed, throttle.Low, shedding, 1),
	}
}
