package overload

import (
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/priority"

	"github.com/spillway-go/spillway/throttle"
)

// calibration is how often failsafe-go's prioritizer looks at what has been rejected.
const calibration = time.Second

// failsafePolicy is failsafe-go's throttler, without its executor. Its dice cannot be seeded: figures vary a little from run
// to run.
func failsafePolicy() Policy {
	return Policy{
		Name: "failsafe", Title: "failsafe-go's adaptive throttler (its dice cannot be seeded)", RealClock: true,
		New: func(Env) (Client, error) { return failsafeClient{adaptivethrottler.NewWithDefaults[any]()}, nil },
	}
}

// failsafePriorityPolicy is failsafe-go's throttler with priorities, and a prioritizer for each client. Its dice cannot be
// seeded: figures vary a little from run to run.
func failsafePriorityPolicy() Policy {
	return Policy{
		Name: "failsafe-prio", Title: "failsafe-go's prioritised throttler (its dice cannot be seeded)", RealClock: true,
		New: func(Env) (Client, error) {
			p := adaptivethrottler.NewPrioritizer()
			return &failsafePriorityClient{
				prioritizer: p, due: time.Now().Add(calibration),
				throttler: adaptivethrottler.NewBuilder[any]().BuildPrioritized(p),
			}, nil
		},
	}
}

type failsafeClient struct {
	throttler adaptivethrottler.AdaptiveThrottler[any]
}

func (c failsafeClient) Admit(throttle.Priority) (Token, bool) {
	return Token{}, c.throttler.TryAcquirePermit()
}

func (c failsafeClient) End(_ Token, o throttle.Outcome) { recordIn(c.throttler, o) }

// failsafePriorityClient calibrates its prioritizer itself, when a call shows that it is time: what failsafe-go offers for that
// is a goroutine, which would keep the bubble from ending.
type failsafePriorityClient struct {
	throttler   adaptivethrottler.PriorityThrottler[any]
	prioritizer priority.Prioritizer
	due         time.Time
}

func (c *failsafePriorityClient) Admit(p throttle.Priority) (Token, bool) {
	if now := time.Now(); !now.Before(c.due) {
		c.prioritizer.Calibrate()
		c.due = now.Truncate(calibration).Add(calibration)
	}
	return Token{}, c.throttler.TryAcquirePermitWithPriority(priority.VeryHigh - priority.Priority(p))
}

func (c *failsafePriorityClient) End(_ Token, o throttle.Outcome) { recordIn(c.throttler, o) }

// recordIn tells a throttler of failsafe-go how a call has ended.
func recordIn(t interface {
	RecordSuccess()
	RecordFailure()
}, o throttle.Outcome,
) {
	if o == throttle.Accepted {
		t.RecordSuccess()
		return
	}
	t.RecordFailure()
}
