package throttle

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
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
	maxMinimumRate = 1e9
	maxRatio       = 1e6

	longestCanceledAfter = time.Hour
)

// Config configures a throttle. Only Name is required; every other zero field means its default.
// [New] copies it.
type Config struct {
	// Name labels all telemetry and every [ShedError]. Use the name of the backend:
	// "recommendations", not "throttle". Required, at most 255 bytes.
	Name string
	// Priorities is the number of priorities, 1 to 16. Default [StandardPriorities].
	Priorities int
	// Ratio is K in the formula: the number of calls that may reach the backend for each call that
	// it accepts. More than 1, at most 1e6. Default 2. A lower ratio wastes less work of the
	// backend on rejections, and notices a recovery later.
	Ratio float64
	// MinimumRate is the approximate number of calls per second, of the whole throttle, that are
	// always let through, to notice when the backend recovers. More than 0, at most 1e9. Default 1.
	// With SRE, MinimumRate times Window must be at least one call. Tiered treats less than one as
	// one.
	MinimumRate float64
	// Window is how long outcomes count, 1 s to 1 h. Default 1 minute, with Tiered 10 s. With a
	// shorter window the throttle reacts and recovers faster, and needs more calls per second to
	// decide well.
	Window time.Duration
	// Policy computes the probability of shedding from the window. Default [SRE]. Use [Tiered] if
	// the backend rejects calls only when it is out of capacity.
	Policy Policy
	// TargetRejection is the share of calls that the backend may reject while [Tiered] sheds, 0.01
	// to 0.5. Default 0.10. Set it well above the share of rejections on normal days. SRE ignores
	// it.
	TargetRejection float64
	// Mode selects whether decisions are enforced. Default [ModeEnforce]. [Throttle.Tune] changes
	// it at run time.
	Mode Mode
	// Classify classifies errors before [DefaultClassify] does. Nil means [DefaultClassify] alone.
	Classify Classifier
	// CanceledAfter makes calls that the caller gives up late count as rejected: calls that end with
	// context.Canceled, after at least this long, because their context was cancelled. Their fault
	// is [FaultCanceled]. At most 1 h. Default 0: off, a cancelled call is always ignored. A
	// negative value is off too, also in packages whose default is not 0.
	//
	// Set it if callers may give up before a call has a timeout of its own. A backend that hangs
	// would not be noticed otherwise. Choose a time that the backend never needs if it is healthy.
	// It costs one more reading of the clock per call.
	CanceledAfter time.Duration
	// InvalidPriority converts a priority that is out of range to one of the n valid ones, or
	// returns an error. Its result is clamped. Default [ClampPriority].
	InvalidPriority func(p Priority, n int) (Priority, error)
	// ShedErr is the error of shed calls. It is wrapped: errors.Is(err, [ErrShed]) is true, and
	// errors.As finds both the *[ShedError] and ShedErr. Default a *[ShedError].
	ShedErr error
	// Hooks are called for the events of this throttle. Default [DefaultHooks].
	Hooks Hooks
	// Now returns the time, for simulations. It must be safe for concurrent use. With Now, calls of
	// several processors share their counters and are slower. Default the monotonic clock, which
	// testing/synctest controls.
	Now func() time.Time
	// Rand returns a random number in [0, 1), for simulations. It must be safe for concurrent use.
	// Default a generator of the throttle, seeded by math/rand/v2.
	Rand func() float64
}

// Mode selects what a throttle does with its decisions.
type Mode uint8

const (
	// ModeEnforce sheds calls.
	ModeEnforce Mode = iota
	// ModeShadow decides and reports, and lets every call through: a dry run. The window counts the
	// calls that ModeEnforce would shed as shed, and not their outcome.
	ModeShadow
	// ModeOff decides nothing and lets every call through. It still counts. Use it as a kill
	// switch.
	ModeOff
)

// String returns "enforce", "shadow" or "off".
func (m Mode) String() string {
	return enum.Name("mode", m, "enforce shadow off")
}

// MarshalText returns the word of the mode, or an error if the mode is not defined.
func (m Mode) MarshalText() ([]byte, error) { return enum.Marshal(m, ModeEnforce, ModeOff) }

// UnmarshalText reads the word of a mode. For any other text it returns an error that lists the
// words, and does not change m.
func (m *Mode) UnmarshalText(text []byte) error { return enum.Unmarshal(m, text, ModeEnforce, ModeOff) }

// withDefaults returns a copy with every default filled in.
func (c Config) withDefaults() Config {
	c.Priorities = check.Default(c.Priorities, StandardPriorities)
	c.Ratio = check.Default(c.Ratio, defaultRatio)
	c.MinimumRate = check.Default(c.MinimumRate, defaultMinimumRate)
	if c.Policy == Tiered {
		c.Window = check.Default(c.Window, defaultTieredWindow)
	}
	c.Window = check.Default(c.Window, defaultWindow)
	c.TargetRejection = check.Default(c.TargetRejection, defaultTargetRejection)
	if c.InvalidPriority == nil {
		c.InvalidPriority = ClampPriority
	}
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c
}

// Validate returns the error that [New] would return for c, and creates nothing.
func (c Config) Validate() error {
	c = c.withDefaults()
	return c.validate()
}

// validate returns all errors of a Config with defaults. Each error has the field, the value and the range.
func (c *Config) validate() error {
	e := check.Errors{Owner: "throttle: Config"}
	e.Name("Name", c.Name)
	e.Want(check.Within(c.Priorities, 1, MaxPriorities), "Priorities", c.Priorities, "1 to 16")
	e.Want(check.Within(c.Window, shortestWindow, longestWindow), "Window", c.Window, "1s to 1h")
	e.Want(c.Policy <= Tiered, "Policy", c.Policy, "SRE or Tiered")
	e.Want(check.Within(c.TargetRejection, 0.01, 0.5), "TargetRejection", c.TargetRejection, "0.01 to 0.5")
	e.Want(c.CanceledAfter <= longestCanceledAfter, "CanceledAfter", c.CanceledAfter, "at most 1h")
	tuning := Tuning{Ratio: c.Ratio, MinimumRate: c.MinimumRate, Mode: c.Mode}
	tuning.validate(&e, c.Policy, c.Window)
	return e.Err()
}

// above is the smallest number above x.
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
