package backoff

import (
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Mode says what the delay is.
type Mode uint8

const (
	// Pace is the gap between two calls of all workers together. The default.
	Pace Mode = iota
	// Sleep is how long each worker sleeps before each of its calls.
	Sleep

	numModes = iota
)

// String returns the mode's word: "pace" or "sleep".
func (m Mode) String() string {
	return enum.Name("mode", m, "pace sleep")
}

// MarshalText returns the mode's word, and an error if it has none.
func (m Mode) MarshalText() ([]byte, error) { return enum.Marshal(m, Pace, Sleep) }

// UnmarshalText takes the mode's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (m *Mode) UnmarshalText(text []byte) error { return enum.Unmarshal(m, text, Pace, Sleep) }

// Bounds of Config.
const (
	shortestInterval = time.Microsecond
	longestInterval  = 24 * time.Hour
	highestUp        = 100
	highestThreshold = 1e6
	longestName      = 255
	shortestIdle     = 5 * time.Minute
)

// Config says how a [Responsive] goes up and down. Every zero field but Name means its default, which depends on the mode. [New] copies it.
type Config struct {
	// Name says what is called. It labels all telemetry. Required, at most 255 bytes.
	Name string
	// Mode says what the delay is. Default Pace.
	Mode Mode

	// InitialInterval is the first delay, and the shortest: what would be less is none. 1 us to MaxInterval. Default 100 us, which finds
	// rates of up to ten thousand calls per second; of Sleep 500 ms.
	InitialInterval time.Duration
	// MaxInterval is the longest delay, up to 24 h. Default 30 s, of Sleep 15 min.
	MaxInterval time.Duration
	// UpMultiplier makes the delay longer, above 1 to 100. Default 1.25, of Sleep 1.5. Up takes its place.
	UpMultiplier float64
	// Up is how the delay grows instead, if it is not zero: see [Linear] and [Exponential]. It is kept within InitialInterval and MaxInterval.
	Up Step
	// DownMultiplier makes the delay shorter, above 0 and below 1. Default 0.98, of Sleep 0.9.
	DownMultiplier float64
	// DownMultiplierThreshold is how many successes in a row make it shorter, 1 to 1e6. Default 20, of Sleep 10.
	DownMultiplierThreshold int

	// RandomizationFactor is the part of a delay by which what is slept is longer or shorter, at random: 0.2 makes 0.8 to 1.2 of it. At most 1;
	// negative means none. Default 0.3. The delay itself is free of noise, and what is slept is never longer than MaxInterval.
	RandomizationFactor float64
	// MaxRandomization bounds that in time. Default 2 min.
	MaxRandomization time.Duration
	// IdleReset is after how long without a call the delay is forgotten; while somebody waits it is not. Default five minutes, or twice MaxInterval
	// if that is longer; negative means never.
	IdleReset time.Duration

	// Classify says what became of a call of [Do], instead of the default, by what its function returned: nil too. End it with
	// "return Classify(err)", of this package, for what you have no opinion on. Default [Classify].
	Classify func(error) Outcome
	// Hooks are called when something happens. Default [DefaultHooks], at the time of New.
	Hooks Hooks
}

// withDefaults returns a copy in which no zero means a default any more.
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
	orElse(&c.InitialInterval, preset.InitialInterval)
	orElse(&c.MaxInterval, max(preset.MaxInterval, c.InitialInterval))
	orElse(&c.UpMultiplier, preset.UpMultiplier)
	orElse(&c.DownMultiplier, preset.DownMultiplier)
	orElse(&c.DownMultiplierThreshold, preset.DownMultiplierThreshold)
	orElse(&c.RandomizationFactor, 0.3)
	orElse(&c.MaxRandomization, 2*time.Minute)
	orElse(&c.IdleReset, max(shortestIdle, 2*c.MaxInterval))
	if c.Up == (Step{}) {
		c.Up = Exponential(c.InitialInterval, c.MaxInterval, c.UpMultiplier)
	}
	if c.Classify == nil {
		c.Classify = Classify
	}
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c
}

// longest is the longest delay that there will be.
func (c *Config) longest() time.Duration {
	return min(c.MaxInterval, max(c.Up.longest, c.InitialInterval))
}

func orElse[T comparable](field *T, preset T) {
	var zero T
	if *field == zero {
		*field = preset
	}
}

// validate returns every fault of a Config whose defaults are filled in, each with field, value and range.
func (c *Config) validate() error {
	var errs []error
	demand := func(good bool, field string, value any, want string) {
		if !good {
			errs = append(errs, fmt.Errorf("backoff: Config.%s is %v: want %s", field, value, want))
		}
	}
	demand(c.Name != "" && len(c.Name) <= longestName, "Name", fmt.Sprintf("%.64q", c.Name), "1 to 255 bytes")
	demand(c.Mode < numModes, "Mode", uint8(c.Mode), "Pace or Sleep")
	demand(c.InitialInterval >= shortestInterval && c.InitialInterval <= longestInterval, "InitialInterval", c.InitialInterval, "1µs to MaxInterval")
	demand(c.MaxInterval >= c.InitialInterval && c.MaxInterval <= longestInterval, "MaxInterval", c.MaxInterval,
		fmt.Sprintf("InitialInterval, which is %v, to 24h", c.InitialInterval))
	demand(c.UpMultiplier > 1 && c.UpMultiplier <= highestUp, "UpMultiplier", c.UpMultiplier, "more than 1, to 100")
	demand(!(c.UpMultiplier > 1) || c.InitialInterval <= 0 || c.MaxInterval <= 0 || c.Up.sound(), "Up", fmt.Sprintf("%+v", c.Up),
		"a delay to add, or a multiplier above 1, up to a longest delay")
	demand(c.DownMultiplier > 0 && c.DownMultiplier < 1, "DownMultiplier", c.DownMultiplier, "more than 0, less than 1")
	demand(c.DownMultiplierThreshold >= 1 && c.DownMultiplierThreshold <= highestThreshold,
		"DownMultiplierThreshold", c.DownMultiplierThreshold, "1 to 1e6")
	demand(c.RandomizationFactor <= 1, "RandomizationFactor", c.RandomizationFactor, "at most 1, or negative for none")
	demand(c.MaxRandomization >= 0 && c.MaxRandomization <= longestInterval, "MaxRandomization", c.MaxRandomization, "0 to 24h")
	return errors.Join(errs...)
}
