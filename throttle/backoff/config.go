package backoff

import (
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Mode selects how the delay is applied.
type Mode uint8

const (
	// Pace makes the delay the gap between two calls of all workers together. It is the default.
	Pace Mode = iota
	// Sleep makes each worker sleep the delay before each of its calls.
	Sleep

	numModes = iota
)

// String returns the mode's word: "pace" or "sleep".
func (m Mode) String() string {
	return enum.Name("mode", m, "pace sleep")
}

// MarshalText returns the mode's word, or an error if m is not a mode.
func (m Mode) MarshalText() ([]byte, error) { return enum.Marshal(m, Pace, Sleep) }

// UnmarshalText sets m to the mode whose word is text. For any other text it returns an error that
// lists the words, and leaves m unchanged.
func (m *Mode) UnmarshalText(text []byte) error { return enum.Unmarshal(m, text, Pace, Sleep) }

// Limits of Config.
const (
	minInterval    = time.Microsecond
	maxInterval    = 24 * time.Hour
	maxUp          = 100
	maxThreshold   = 1e6
	minDefaultIdle = 5 * time.Minute
)

// Config configures a [Responsive]. Only Name is required: every other zero field means its
// default. Some defaults depend on Mode. [New] copies the Config.
type Config struct {
	// Name identifies the service that is called. It labels all telemetry. Required, at most 255
	// bytes.
	Name string
	// Mode selects how the delay is applied. Default Pace.
	Mode Mode

	// InitialInterval is the first delay and the shortest: a shorter one becomes 0. At least 1µs,
	// at most MaxInterval. Default 100µs, in mode Sleep 500ms. A delay of 100µs finds rates of up
	// to 10,000 calls per second.
	InitialInterval time.Duration
	// MaxInterval is the longest delay. At least InitialInterval, at most 24h. Default 30s, in mode
	// Sleep 15min, or InitialInterval if that is longer.
	MaxInterval time.Duration
	// UpMultiplier makes the delay longer. More than 1, at most 100. Default 1.25, in mode Sleep
	// 1.5.
	UpMultiplier float64
	// UpInterval makes the delay longer by addition, in place of UpMultiplier: with 1s, and an
	// InitialInterval of 1s, the delays are 1s, 2s, 3s. At most 24h. Default 0: UpMultiplier.
	UpInterval time.Duration
	// DownMultiplier makes the delay shorter. More than 0, less than 1. Default 0.98, in mode Sleep
	// 0.9.
	DownMultiplier float64
	// DownMultiplierThreshold is the number of successes in a row that make the delay shorter, 1 to
	// 1e6. Default 20, in mode Sleep 10.
	DownMultiplierThreshold int

	// RandomizationFactor is the largest random deviation of a wait, as a part of the delay: with
	// 0.2 a wait is 0.8 to 1.2 delays long. At most 1; negative means none. Default 0.3. The delay
	// itself stays exact, and a wait is never longer than MaxInterval.
	RandomizationFactor float64
	// MaxRandomization is the largest random deviation of a wait as a duration, at most 24h.
	// Default 2min.
	MaxRandomization time.Duration
	// IdleReset is the time without a call after which the delay becomes 0. A waiting call prevents
	// it. Default 5min, or twice MaxInterval if that is longer; negative means never.
	IdleReset time.Duration

	// Classify classifies errors before [Classify] does: if ok is false, it has no opinion. It is not
	// called for nil, which is a success, nor for an error with a mark of [throttle.MarkRejected].
	// Nil means [Classify] alone.
	Classify func(error) (o Outcome, ok bool)
	// Hooks are called when something happens. Default [DefaultHooks], at the time of New.
	Hooks Hooks
}

func (c Config) withDefaults() Config {
	preset := Config{
		InitialInterval: 100 * time.Microsecond, MaxInterval: 30 * time.Second,
		UpMultiplier: 1.25, DownMultiplier: 0.98, DownMultiplierThreshold: 20,
	}
	if c.Mode == Sleep {
		preset = Config{
			InitialInterval: 500 * time.Millisecond, MaxInterval: 15 * time.Minute,
			UpMultiplier: 1.5, DownMultiplier: 0.9, DownMultiplierThreshold: 10,
		}
	}
	c.InitialInterval = check.Default(c.InitialInterval, preset.InitialInterval)
	c.MaxInterval = check.Default(c.MaxInterval, max(preset.MaxInterval, min(c.InitialInterval, maxInterval)))
	c.UpMultiplier = check.Default(c.UpMultiplier, preset.UpMultiplier)
	c.DownMultiplier = check.Default(c.DownMultiplier, preset.DownMultiplier)
	c.DownMultiplierThreshold = check.Default(c.DownMultiplierThreshold, preset.DownMultiplierThreshold)
	c.RandomizationFactor = check.Default(c.RandomizationFactor, 0.3)
	c.MaxRandomization = check.Default(c.MaxRandomization, 2*time.Minute)
	c.IdleReset = check.Default(c.IdleReset, max(minDefaultIdle, 2*c.MaxInterval))
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c
}

func (c *Config) classify(err error) Outcome {
	byDefault := Classify(err)
	if err != nil && c.Classify != nil && (!byDefault.IsThrottled() || !isMarked(err)) {
		if o, ok := c.Classify(err); ok {
			return o
		}
	}
	return byDefault
}

// isMarked reports whether an error has the mark of [throttle.MarkRejected], which only package throttle
// can see: an error with [throttle.ErrShed] is ignored, except a marked one.
func isMarked(err error) bool { return Classify(errors.Join(err, throttle.ErrShed)).IsThrottled() }

func (c *Config) validate() error {
	e := check.Errors{Owner: "backoff: Config"}
	e.Name("Name", c.Name)
	e.Want(c.Mode < numModes, "Mode", uint8(c.Mode), "Pace or Sleep")
	shortest := minInterval // of MaxInterval; an invalid InitialInterval is no bound
	if check.Within(c.InitialInterval, minInterval, maxInterval) {
		shortest = c.InitialInterval
	} else {
		e.Want(false, "InitialInterval", c.InitialInterval, "1µs to MaxInterval, at most 24h")
	}
	e.Want(check.Within(c.MaxInterval, shortest, maxInterval), "MaxInterval", c.MaxInterval,
		fmt.Sprintf("at least InitialInterval (%v), at most 24h", shortest))
	e.Want(c.UpMultiplier > 1 && c.UpMultiplier <= maxUp, "UpMultiplier", c.UpMultiplier, "more than 1, at most 100")
	e.Want(check.Within(c.UpInterval, 0, maxInterval), "UpInterval", c.UpInterval, "0 to 24h")
	e.Want(c.DownMultiplier > 0 && c.DownMultiplier < 1, "DownMultiplier", c.DownMultiplier, "more than 0, less than 1")
	e.Want(check.Within(c.DownMultiplierThreshold, 1, maxThreshold), "DownMultiplierThreshold", c.DownMultiplierThreshold, "1 to 1e6")
	e.Want(c.RandomizationFactor <= 1, "RandomizationFactor", c.RandomizationFactor, "at most 1, or negative for none")
	e.Want(check.Within(c.MaxRandomization, 0, maxInterval), "MaxRandomization", c.MaxRandomization, "0 to 24h")
	return e.Err()
}

// next returns the delay after current, without the limits of the delay.
func (c *Config) next(current time.Duration) time.Duration {
	switch {
	case current == 0:
		return c.InitialInterval
	case c.UpInterval > 0:
		return current + c.UpInterval
	default:
		return max(current+1, time.Duration(float64(current)*c.UpMultiplier)) // a tiny factor steps by 1ns
	}
}
