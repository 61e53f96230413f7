package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Limits of Config.
const (
	maxAttempts = 10
	maxReserve  = 1e6
	minWindow   = time.Second
	maxWindow   = time.Hour
	maxDelay    = time.Hour
)

// Config configures a [Retrier]. Only Name or Throttle is required: every other zero field means
// its default. [New] copies the Config.
type Config struct {
	// Name identifies the backend. It labels all telemetry. At most 255 bytes. Default: the name of
	// Throttle.
	Name string
	// Throttle is what every attempt passes. It also decides which errors are rejections. Default
	// nil: none, and [throttle.DefaultClassify] decides.
	Throttle *throttle.Throttle
	// Mode is ModeEnforce, or ModeOff: no call is retried or hedged. [Retrier.Tune] changes it at run
	// time. Default ModeEnforce.
	Mode throttle.Mode
	// Attempts is the highest number of attempts of a call, the first one included, 1 to 10.
	// Default 3. [Retrier.Tune] changes it at run time.
	Attempts int
	// Budget limits the retries of all calls together. [Retrier.Tune] changes its Share and Reserve at
	// run time.
	Budget Budget
	// Delay is the delay before a retry.
	Delay Delay
	// Retryable reports whether a call that ended with err may be retried. If ok is false, it has
	// no opinion, and a rejected call is retried. It is not asked about calls that were shed or
	// cancelled. Default: no opinion.
	Retryable func(ctx context.Context, err error) (retry, ok bool)
	// Hooks are called when something happens. Default [DefaultHooks], at the time of New.
	Hooks Hooks
	// Rand returns random numbers from 0 to less than 1, for the delay. It must be safe for
	// concurrent use. Default: math/rand/v2.
	Rand func() float64
	// Now returns the time for the budget. Default: time.Now.
	Now func() time.Time
}

// Budget limits retries: in each Window they are at most Share of the first attempts that were
// accepted in it, plus Reserve for each second. A retry is taken from the budget before its delay, and a hedge before it
// begins: one that the throttle sheds then is used up.
//
// If a Retrier had no retry to decide about for longer than a Window, it assumes that first attempts
// were accepted at an even rate meanwhile. So a call that needs no retry reads no clock.
type Budget struct {
	// Share is the number of retries per accepted first attempt. More than 0, at most 1. Default
	// 0.1.
	Share float64
	// Reserve is the number of retries a second that need no accepted attempts, at most 1e6. Each
	// process has its own, so keep it small if there are many. Default 0.3, which is three retries
	// in the default Window, and at least one retry per Window; negative means none.
	Reserve float64
	// Window is the time over which attempts are counted, 1s to 1h. Default 10s.
	Window time.Duration
}

// Delay is the delay before a retry.
type Delay struct {
	// Initial is the longest random delay before the first retry. It doubles with each further
	// retry, up to Longest. 1µs to Longest. Default 50ms.
	Initial time.Duration
	// Longest is the longest random delay, and the longest one that the backend may ask for, at most 1h. If it asks for
	// a longer one, the call is not retried. A retry waits for the sum of both, so at most twice as long. Default 10s.
	Longest time.Duration
	// Attempt is the shortest time in which an attempt can end, at most 1h. A retry that has less
	// time before the deadline of its context is not made. Default 0.
	Attempt time.Duration
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = c.Throttle.Name()
	}
	c.Attempts = check.Default(c.Attempts, 3)
	c.Budget.Share = check.Default(c.Budget.Share, 0.1)
	c.Budget.Window = check.Default(c.Budget.Window, 10*time.Second)
	c.Budget.Reserve = check.Default(c.Budget.Reserve, max(0.3, 1/max(c.Budget.Window, minWindow).Seconds()))
	c.Delay.Longest = check.Default(c.Delay.Longest, 10*time.Second)
	c.Delay.Initial = check.Default(c.Delay.Initial, min(50*time.Millisecond, max(c.Delay.Longest, time.Microsecond)))
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Hooks = defaultHooks.Or(c.Hooks)
	return c
}

// Validate returns an error for every field that is out of range, with its value and its range, or
// nil. It is for programs that check settings before they use them.
func (c Config) Validate() error {
	c = c.withDefaults()
	return c.validate()
}

func (c *Config) validate() error {
	e := check.Errors{Owner: "retry: Config"}
	e.Name("Name", c.Name)
	u := c.tuning()
	u.validate(&e, "Budget.")
	e.Span("Budget.Window", c.Budget.Window, minWindow, maxWindow)
	e.Span("Delay.Longest", c.Delay.Longest, time.Microsecond, maxDelay)
	e.Want(check.Within(c.Delay.Initial, time.Microsecond, max(c.Delay.Longest, time.Microsecond)), "Delay.Initial", c.Delay.Initial, "1µs to Delay.Longest")
	e.Span("Delay.Attempt", c.Delay.Attempt, 0, maxDelay)
	return e.Err()
}

func (c *Config) tuning() Tuning {
	return Tuning{Mode: c.Mode, Attempts: c.Attempts, Share: c.Budget.Share, Reserve: c.Budget.Reserve}
}
