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
	defaultWindow          = 10 * time.Second
	defaultSREWindow       = time.Minute
	defaultTargetRejection = 0.10

	shortestWindow = time.Second
	longestWindow  = time.Hour
	maxMinimumRate = 1e9
	maxRatio       = 1e6
	maxBackground  = 0.5

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
	// Less than one call per Window counts as one. With [SRE], each priority in use adds some: of four, about
	// twice as many get through.
	MinimumRate float64
	// Window is how long outcomes count, 1 s to 1 h. Default 10 s, with SRE 1 minute. With a
	// shorter window the throttle reacts and recovers faster, and needs more calls per second to
	// decide well.
	Window time.Duration
	// Policy computes the probability of shedding from the window. Default [Tiered].
	Policy Policy
	// TargetRejection is the share of calls that the backend may reject while [Tiered] is in alert,
	// 0.01 to 0.5, beside the Background. Default 0.10. A higher one protects High less. A rejection of which the
	// backend says that it is full counts three times, or six times while tenants are spared: see [WithTenant].
	// SRE ignores TargetRejection.
	TargetRejection float64
	// Background is the share of the calls that the backend rejects for other reasons than load: 10 %
	// of errors are 0.1. While [Tiered] is in alert, it forgives as many rejections. Default 0: the
	// share that Tiered has measured before the alert, at most 0.4. At most 0.5; a negative value
	// means none. SRE ignores it. [Throttle.Tune] changes it at run time.
	Background float64
	// Mode selects whether decisions are enforced. Default [ModeEnforce]. [Throttle.Tune] changes
	// it at run time.
	Mode Mode
	// Slow is how long a call may be open before it is late, 1 ms to 1 h. Default 0: it is learned for
	// calls that this process serves, those of [Throttle.AdmitLocal] and [Throttle.DoLocal], if the policy
	// is [Tiered]; for calls to other processes it is off. See SlowAuto. A negative value turns it off.
	// It protects a backend that becomes slow, but neither rejects calls nor runs into deadlines. Choose
	// twice the 99th percentile of good days, and more than the longest pause that you accept.
	//
	// One late call in three counts as rejected when it becomes late, whatever its outcome is. A call
	// that is open for 10 s, or for 20 times Slow if that is more, counts as rejected, because it may
	// never end. While calls are late, SlowGate limits how many are open. A call is open until its
	// first answer: see [Call.Answered] and [Call.Responding]. Late calls are found when calls begin or end, and by
	// [Throttle.Stats]. It costs one more reading of the clock per call. [Throttle.Tune] changes Slow
	// at run time, for calls that begin later.
	Slow time.Duration
	// SlowGate selects what happens while more than a tenth of the calls are late: ModeEnforce admits
	// only as many open calls as the backend accepts in Slow, and fewer of lower priorities.
	// ModeShadow only counts the calls that it would refuse. ModeOff turns the limit off. Default
	// ModeEnforce. A refused call is shed, its cause is [CauseLimit], and it counts as rejected by the
	// backend, so that the policy chooses which calls are shed from then on. [Throttle.Tune] changes
	// it at run time.
	SlowGate Mode
	// SlowAuto learns Slow from the calls that the backend accepts, and separates a full backend from one that
	// only became slower. A throttle that serves calls does so without it. Default false: calls to other
	// processes have no Slow unless it is set. It has no effect if Slow is set or negative.
	//
	// A call is late after five times the mean time of a call in the last minute, at least 50 ms. Late calls count as
	// rejected, and SlowGate limits how many are open, only once they have been found to wait in a queue: all
	// calls are late, and more begin than end, while as many end as usual; or the times of all late calls grow,
	// one after the other; or a quarter of the calls in 2 s end late and without an answer. Then the policy
	// keeps the queue short. A backend whose calls take ten times as long, but not longer and longer, is not
	// shed from. [SlowStats] has what was learned and found. It costs what Slow costs, and two counters per
	// call. [Throttle.Tune] changes it at run time.
	SlowAuto bool
	// ProcessorWait is how long a request may wait for a processor of this process, 1 ms to 10 s.
	// Default 30 ms. If more waits, calls that this process serves are shed, lowest priorities first:
	// those of [Throttle.AdmitLocal] and [Throttle.DoLocal], which the servers of packages
	// httpthrottle, grpcthrottle and connectthrottle call. The cause is [CauseProcessor]. Calls to other
	// processes are not affected. A negative value turns it off.
	//
	// While calls wait for longer, those that this process serves are ignored if they end with a timeout or
	// after CanceledAfter, also with a mark of [MarkRejected]: the policy would shed for the same wait a second time.
	//
	// All throttles of the process shed together. If their settings differ, the smallest one that calls
	// come with applies. [Throttle.Tune] changes it at run time. See docs/protect-a-server.md.
	ProcessorWait time.Duration
	// Tenants changes the shares of tenants. Default: equal shares. See [WithTenant].
	Tenants Tenants
	// Classify classifies errors before [DefaultClassify] does. Nil means [DefaultClassify] alone.
	Classify Classifier
	// CanceledAfter makes calls that the caller gives up late count as rejected: calls that end with
	// context.Canceled, after at least this long, because their context was cancelled. Their fault
	// is [FaultCanceled]. At most 1 h. Default 0: off, a cancelled call is always ignored. A
	// negative value is off too, also in packages whose default is not 0.
	//
	// Set it if callers may give up before a call has a timeout of its own. A backend that hangs
	// would not be noticed otherwise. Choose a time that the backend never needs if it is healthy.
	// It costs one more reading of the clock per call. [Throttle.Tune] changes it at run time, for calls
	// that begin later.
	CanceledAfter time.Duration
	// InvalidPriority converts a priority that is out of range to one of the n valid ones, or
	// returns an error. Its result is clamped. Default [ClampPriority].
	InvalidPriority func(p Priority, n int) (Priority, error)
	// ShedErr is the error of shed calls. It is wrapped: errors.Is(err, [ErrShed]) is true, and
	// errors.As finds both the *[ShedError] and ShedErr. Default a *[ShedError].
	ShedErr error
	// Hooks are called for the events of this throttle. Default [DefaultHooks].
	Hooks Hooks
	// Now returns the time, for simulations. It must be safe for concurrent use. If it goes back, Slow
	// finds no late calls until it has caught up. The ProcessorWait is off. With Now, calls of several
	// processors share their counters and are slower. Default the monotonic clock, which testing/synctest controls.
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

// UnmarshalText reads the word of a mode. Any other text is an error, and does not change m.
func (m *Mode) UnmarshalText(text []byte) error { return enum.Unmarshal(m, text, ModeEnforce, ModeOff) }

func (c Config) withDefaults() Config {
	c.Priorities = check.Default(c.Priorities, StandardPriorities)
	c.Ratio = check.Default(c.Ratio, defaultRatio)
	c.MinimumRate = check.Default(c.MinimumRate, defaultMinimumRate)
	if c.Policy == SRE {
		c.Window = check.Default(c.Window, defaultSREWindow)
	}
	c.Window = check.Default(c.Window, defaultWindow)
	c.TargetRejection = check.Default(c.TargetRejection, defaultTargetRejection)
	if c.InvalidPriority == nil {
		c.InvalidPriority = ClampPriority
	}
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c
}

// Announce calls Hooks.Announced with the Name. Call it if you make throttles of c later, such as with
// the first call: then a Control accepts settings of that name before.
func (c Config) Announce() {
	if announced := defaultHooks.Or(c.Hooks).Announced; announced != nil {
		announced(c.Name)
	}
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
	e.Want(c.Policy <= SRE, "Policy", c.Policy, "Tiered or SRE")
	e.Want(check.Within(c.TargetRejection, 0.01, 0.5), "TargetRejection", c.TargetRejection, "0.01 to 0.5")
	u := c.tuning()
	u.validate(&e)
	return e.Err()
}

func (c *Config) tuning() Tuning {
	return Tuning{
		Ratio: c.Ratio, MinimumRate: c.MinimumRate, Mode: c.Mode, Background: c.Background,
		Slow: c.Slow, SlowGate: c.SlowGate, SlowAuto: c.SlowAuto, ProcessorWait: c.ProcessorWait,
		CanceledAfter: c.CanceledAfter,
	}
}

func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
