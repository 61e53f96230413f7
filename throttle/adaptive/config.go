package adaptive

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Defaults and limits of Config.
const (
	defaultDuration        = 30 * time.Second
	defaultBins            = 100
	defaultRatioForAccepts = 2
	defaultRequestsPadding = 8

	minDuration = time.Second
	maxDuration = time.Hour
	minBins     = 10
	maxBins     = 1000
	maxFactor   = 1e6 // of RatioForAccepts and RequestsPadding
)

// Config configures a [Throttler]. A zero field means its default. [New] copies the Config.
type Config struct {
	// Duration is the length of the window: older calls have no effect. 1s to 1h. Default 30s. With
	// a shorter window the throttler reacts and recovers faster, but needs more calls per second to
	// be exact.
	Duration time.Duration
	// Bins is the number of parts of the window. Calls leave it one part at a time. 10 to 1000.
	// Default 100.
	Bins int
	// RatioForAccepts is the number of calls that may reach the backend for each accepted call. 1
	// to 1e6. Default 2. A lower ratio sends fewer calls that the backend rejects, but notices its
	// recovery later.
	RatioForAccepts float64
	// RequestsPadding prevents throttling after a few rejections only. It is also about the number
	// of calls per Duration that are sent during an outage. More than 0, at most 1e6. Default 8.
	RequestsPadding float64
	// Now returns the time, for simulations. It must be safe for concurrent use. Default: the
	// monotonic clock, which follows the fake clock of testing/synctest.
	Now func() time.Time
	// Rand returns a random number in [0, 1), for simulations. It must be safe for concurrent use.
	// Default: math/rand/v2.
	Rand func() float64
}

func (c Config) withDefaults() Config {
	c.Duration = check.Default(c.Duration, defaultDuration)
	c.Bins = check.Default(c.Bins, defaultBins)
	c.RatioForAccepts = check.Default(c.RatioForAccepts, defaultRatioForAccepts)
	c.RequestsPadding = check.Default(c.RequestsPadding, defaultRequestsPadding)
	return c
}

func (c *Config) validate() error {
	e := check.Errors{Owner: "adaptive: Config"}
	e.Want(check.Within(c.Duration, minDuration, maxDuration), "Duration", c.Duration, "1s to 1h")
	e.Want(check.Within(c.Bins, minBins, maxBins), "Bins", c.Bins, "10 to 1000")
	e.Want(check.Within(c.RatioForAccepts, 1, maxFactor), "RatioForAccepts", c.RatioForAccepts, "1 to 1e6")
	e.Want(check.Within(c.RequestsPadding, math.SmallestNonzeroFloat64, maxFactor),
		"RequestsPadding", c.RequestsPadding, "more than 0, at most 1e6")
	return e.Err()
}
