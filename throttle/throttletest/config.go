package throttletest

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	defaultRejectionCost = 0.1
	largestCapacity      = 1e9
)

// BackendConfig says what a backend can do. Every zero field means its default. [NewBackend] copies it.
type BackendConfig struct {
	// Capacity is how many calls per second are served, at most 1e9. Default, and zero: without a limit.
	Capacity float64
	// RejectionCost is the part of a served call's work that a rejection costs: more than 0, at most 1. Default 0.1. It is
	// what makes overload expensive: at RejectionCost 0.1, ten times the capacity leaves nothing for serving.
	RejectionCost float64
	// Latency is how long a served call takes. Default none. It is waited for on real timers, or on those of the synctest
	// bubble, never on Now. Rejections come at once.
	Latency time.Duration
	// Now is the time by which capacity is measured. It must be safe for concurrent use. Nil is the monotonic clock, which
	// testing/synctest governs.
	Now func() time.Time
}

// validate returns every fault of a BackendConfig, each with field, value and range.
func (c *BackendConfig) validate() error {
	return errors.Join(
		checkCapacity("BackendConfig.Capacity", c.Capacity),
		checkRejectionCost(c.RejectionCost),
		checkLatency("BackendConfig.Latency", c.Latency),
	)
}

func checkCapacity(field string, perSecond float64) error {
	if within(perSecond, 0, largestCapacity) {
		return nil
	}
	return fmt.Errorf("throttletest: %s is %v: want 0, which is no limit, to 1e9", field, perSecond)
}

func checkRejectionCost(cost float64) error {
	if cost == 0 || within(cost, math.SmallestNonzeroFloat64, 1) {
		return nil
	}
	return fmt.Errorf("throttletest: BackendConfig.RejectionCost is %v: want more than 0, at most 1", cost)
}

func checkLatency(field string, d time.Duration) error {
	if d >= 0 {
		return nil
	}
	return fmt.Errorf("throttletest: %s is %v: want 0s or more", field, d)
}

// within reports whether lowest <= value <= highest, which no NaN is.
func within(value, lowest, highest float64) bool {
	return value >= lowest && value <= highest
}
