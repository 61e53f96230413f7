package throttle

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/enum"
)

// Defaults and bounds of Config.
const (
	defaultRatio           = 2
	defaultMinimumRate     = 1
	defaultWindow          = time.Minute
	defaultTieredWindow    = 10 * time.Second
	defaultTargetRejection = 0.10

	shortestWindow = time.Second
	longestWindow  = time.Hour
	longestName    = 255
	maxMinimumRate = 1e9
	maxRatio       = 1e6
)

// Config says how a throttle behaves. Every zero field means its default; only Name is required. [New] copies it.
type Config struct {
	// Name labels all telemetry and every [ShedError]. Name the backend: "recommendations", not "throttle". Required, at most 255 bytes.
	Name string
	// Priorities is how many priorities there are, 1 to 16. Default StandardPriorities.
	Priorities int
	// Ratio is the K of the formula: how many calls may reach the backend for each that it accepts. More than 1, at most 1e6,
	// default 2. A lower ratio wastes less of the backend's work on rejections and notices its recovery later.
	Ratio float64
	// MinimumRate is how many calls per second, about, are let through whatever happens, to find out when the backend is
	// back. More than 0, at most 1e9, default 1. With SRE, MinimumRate times Window must be at least one call; Tiered treats less than one as one.
	MinimumRate float64
	// Window is how long outcomes are remembered, 1 s to 1 h. Default 1 minute; for Tiered 10 s. A shorter one reacts and
	// recovers faster, and needs more calls per second to know what it does.
	Window time.Duration
	// Policy turns what is remembered into a probability. Default SRE.
	Policy Policy
	// TargetRejection is, for Tiered, the share of backend rejections aimed at, 0.01 to 0.5. Default 0.10. Set it well above the
	// share of calls that the backend rejects on its best days; see [Tiered] for what it costs.
	TargetRejection float64
	// Mode says what is done about a decision. Default Enforce. [Throttle.Tune] changes it later.
	Mode Mode
	// Classify is asked what an error says about capacity, before [DefaultClassify]. Nil has no opinion.
	Classify Classifier
	// InvalidPriority turns a priority out of range into one of the n in range, or refuses it with an error. What it
	// returns is clamped. Default [ClampPriority].
	InvalidPriority func(p Priority, n int) (Priority, error)
	// ShedErr is returned by shed calls, wrapped so that errors.Is(err, ErrShed) holds. Default a *ShedError.
	ShedErr error
	// Hooks are told what happens.
	Hooks Hooks
	// Now is the time, for simulations. It must be safe for concurrent use. Nil is the monotonic clock, which testing/synctest
	// governs.
	Now func() time.Time
	// Rand draws from [0, 1), for simulations. It must be safe for concurrent use. Nil is a generator of the
	// throttle's own, seeded by math/rand/v2.
	Rand func() float64
}

// Mode says what a throttle does about its decisions.
type Mode uint8

const (
	// ModeEnforce sheds what should be shed.
	ModeEnforce Mode = iota
	// ModeShadow decides and tells, but lets every call through: a dry run.
	ModeShadow
	// ModeOff lets every call through and decides nothing, but still counts: a kill switch.
	ModeOff
)

// String returns the mode's word: "enforce", "shadow" or "off".
func (m Mode) String() string {
	return enum.Name("mode", m, "enforce shadow off")
}

// MarshalText returns the mode's word, and an error if it has none.
func (m Mode) MarshalText() ([]byte, error) { return enum.Marshal(m, ModeEnforce, ModeOff) }

// UnmarshalText takes the mode's word, to the letter. Any other text is an error that names the words, and changes nothing.
func (m *Mode) UnmarshalText(text []byte) error { return enum.Unmarshal(m, text, ModeEnforce, ModeOff) }

// withDefaults returns a copy in which no zero means a default any more.
func (c Config) withDefaults() Config {
	c.Priorities = orDefault(c.Priorities, StandardPriorities)
	c.Ratio = orDefault(c.Ratio, defaultRatio)
	c.MinimumRate = orDefault(c.MinimumRate, defaultMinimumRate)
	if c.Policy == Tiered {
		c.Window = orDefault(c.Window, defaultTieredWindow)
	}
	c.Window = orDefault(c.Window, defaultWindow)
	c.TargetRejection = orDefault(c.TargetRejection, defaultTargetRejection)
	if c.InvalidPriority == nil {
		c.InvalidPriority = ClampPriority
	}
	c.Hooks = defaultHooks.Or(c.Hooks)
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
	refuse := func(bad bool, field string, value any, want string) {
		if bad {
			errs = append(errs, fmt.Errorf("throttle: Config.%s is %v: want %s", field, value, want))
		}
	}
	refuse(c.Name == "" || len(c.Name) > longestName, "Name", fmt.Sprintf("%.64q", c.Name), "1 to 255 bytes")
	refuse(c.Priorities < 1 || c.Priorities > MaxPriorities, "Priorities", c.Priorities, "1 to 16")
	refuse(c.Window < shortestWindow || c.Window > longestWindow, "Window", c.Window, "1s to 1h")
	refuse(c.Policy > Tiered, "Policy", c.Policy, "SRE or Tiered")
	refuse(!within(c.TargetRejection, 0.01, 0.5), "TargetRejection", c.TargetRejection, "0.01 to 0.5")
	tuning := Tuning{Ratio: c.Ratio, MinimumRate: c.MinimumRate, Mode: c.Mode}
	return errors.Join(append(errs, tuning.validate("Config", c.Policy, c.Window))...)
}

// within reports whether lowest <= value <= highest, which no NaN is.
func within(value, lowest, highest float64) bool {
	return value >= lowest && value <= highest
}

// above is the smallest number above x.
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
