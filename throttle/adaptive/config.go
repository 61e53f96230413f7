package adaptive

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Defaults and bounds of Config.
const (
	defaultDuration        = 30 * time.Second
	defaultBins            = 100
	defaultRatioForAccepts = 2
	defaultRequestsPadding = 8

	shortestDuration = time.Second
	longestDuration  = time.Hour
	fewestBins       = 10
	mostBins         = 1000
	largestFactor    = 1e6 // of RatioForAccepts and RequestsPadding
)

// Config says how a throttler behaves. Every zero field means its default. [New] copies it.
type Config struct {
	// Duration is how long calls are remembered, 1 s to 1 h. Default 30 s. A shorter one reacts and recovers
	// faster, and needs more calls per second to know what it does.
	Duration time.Duration
	// Bins is in how many steps they are forgotten, 10 to 1000. Default 100.
	Bins int
	// RatioForAccepts is how many calls may reach the backend for each that it accepts, 1 to 1e6. Default 2. A lower ratio
	// wastes less of the backend's work on refusals and notices its recovery later.
	RatioForAccepts float64
	// RequestsPadding keeps a client with few calls from throttling on scant evidence, and is about how many calls per Duration
	// go out whatever happens. More than 0, at most 1e6. Default 8.
	RequestsPadding float64
	// Now is the time, for simulations. It must be safe for concurrent use. Nil is the monotonic clock, which
	// testing/synctest governs.
	Now func() time.Time
	// Rand draws from [0, 1), for simulations. It must be safe for concurrent use. Nil is math/rand/v2.
	Rand func() float64
}

// withDefaults returns a copy in which no zero means a default any more.
func (c Config) withDefaults() Config {
	c.Duration = orDefault(c.Duration, defaultDuration)
	c.Bins = orDefault(c.Bins, defaultBins)
	c.RatioForAccepts = orDefault(c.RatioForAccepts, defaultRatioForAccepts)
	c.RequestsPadding = orDefault(c.RequestsPadding, defaultRequestsPadding)
	return c
}

func orDefault[T int | float64 | time.Duration](value, def T) T {
	if value == 0 {
		return def
	}
	return value
}

// validate returns every fault of a Config whose defaults are filled in, each with field, value and range.
func (c *Config) validate() error {
	var errs []error
	demand := func(good bool, field string, value any, want string) {
		if !good {
			errs = append(errs, fmt.Errorf("adaptive: Config.%s is %v: want %s", field, value, want))
		}
	}
	demand(within(c.Duration, shortestDuration, longestDuration), "Duration", c.Duration, "1s to 1h")
	demand(within(c.Bins, fewestBins, mostBins), "Bins", c.Bins, "10 to 1000")
	demand(within(c.RatioForAccepts, 1, largestFactor), "RatioForAccepts", c.RatioForAccepts, "1 to 1e6")
	demand(within(c.RequestsPadding, math.SmallestNonzeroFloat64, largestFactor),
		"RequestsPadding", c.RequestsPadding, "more than 0, at most 1e6")
	return errors.Join(errs...)
}

// within reports whether lowest <= value <= highest, which no NaN is.
func within[T int | float64 | time.Duration](value, lowest, highest T) bool {
	return value >= lowest && value <= highest
}
