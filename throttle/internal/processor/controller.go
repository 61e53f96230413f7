package processor

import (
	"math"
	"time"
)

// The constants of the controller. The cases in its tests show what they are made for.
const (
	// A tick is what the gains refer to.
	tick = 10 * time.Millisecond
	// integralGain is how far the logarithm of the admitted share falls in a tick, if the wait is twice
	// the aim. proportionalGain is how far it falls if the wait has grown by the aim.
	integralGain     = 0.015
	proportionalGain = 0.20
	// releaseFaster is how much faster the share falls if hardly anything waits.
	releaseFaster = 3.0
	// worst bounds the error: a longer queue is gone as soon as enough is shed, because to shed is fast.
	worst = 4.0
	// leastAdmitted is the least share of the demand that is admitted.
	leastAdmitted = 0.005
	// leastQueue is the number of goroutines per processor that may wait, however long their turns are:
	// with fewer, chance alone would make it shed. While calls are shed, that may be as few as heldQueue if the
	// others wait for longer than heldWait, in seconds: a request needs several turns, and its caller has a deadline.
	leastQueue = 10
	heldQueue  = 3
	heldWait   = 0.1
	// A wait above the aim is an overload if it is manyAims of it, and lasts this many seconds, or if it lasts
	// for longestPatience. A garbage collection or an unlucky moment is over before. Within againTime of an
	// overload, patience is enough: with few long requests, an overload often ends by chance alone.
	patience        = 0.2
	longestPatience = 1.0
	manyAims        = 8
	againTime       = 10.0
	// shortDrain is the time in which a queue may end by itself, without shedding. Many clients wait no
	// longer.
	shortDrain = 0.8
	// longestTick is how much a tick counts at most, in seconds. A longer one says that the process has
	// stood still, and little about the wait since.
	longestTick = 0.05
	// topShedFully is the probability of shedding the highest of several priorities from which the wait may be
	// twice as long. Requests come by chance: with a short queue, one of the highest priority is shed at one moment,
	// and one of the next priority is admitted a moment later.
	topShedFully = 0.1
	// otherWaits is how often a goroutine may wait for those that are no requests: it meets them again
	// if its work takes several turns.
	otherWaits = 1.5
	// shortPart is the part of the present wait from which a turn counts.
	shortPart = 0.03
	// calmTime is how long nothing must be shed before the overload has ended.
	calmTime = 0.3
	// hardlyAny is a share that comes of chance: if no more is shed for a second, the overload has
	// ended too.
	hardlyAny = 0.1
)

// Reading is what is known at a tick.
type Reading struct {
	Elapsed    time.Duration // since the tick before
	Runnable   int           // goroutines that wait for a processor
	Turns      float64       // of goroutines that had waited, since the tick before; an estimate
	Processors int
	Aim        time.Duration         // the wait to hold
	Demand     [MaxPriorities]uint64 // calls since the tick before, shed ones included
	Open       int                   // calls that were admitted in the last seconds and have not ended
	Shadow     bool                  // nothing is shed
}

// Controller computes which share of the demand to shed, so that a goroutine that becomes runnable
// waits no longer than the aim. It sheds lowest priorities first. It only computes: equal readings
// give equal results.
//
// It is a PI controller as in PIE (RFC 8033), on the logarithm of the share that is admitted. So a
// step has the same effect on the queue whether a tenth or nine tenths are shed.
type Controller struct {
	pace       pace
	trend      trend
	background background
	mix        mix

	wait     float64 // for a processor, in seconds; smoothed
	aim      float64 // in seconds
	err      float64 // of the last tick: 0 if the wait is the aim
	refusing float64 // minus the logarithm of the admitted share
	overload bool
	above    float64 // for how long the wait has been above the aim
	again    float64 // for how long an overload will begin sooner, because one has just ended
	calm     float64 // for how long nothing had to be shed
	shadow   bool    // nothing is shed, so that a trial would show nothing
	trial    trial
}

// Update computes the state after a tick.
func (c *Controller) Update(r *Reading) {
	dt := min(r.Elapsed.Seconds(), longestTick)
	if dt <= 0 {
		return
	}
	c.shadow = r.Shadow
	c.pace.add(r)
	c.mix.add(&r.Demand, dt)
	c.background.calls = c.mix.rate()
	turn := c.pace.turn() / float64(r.Processors)
	queue := turn * math.Sqrt(float64(r.Processors))
	base := max(r.Aim.Seconds(), leastQueue*queue)
	now := float64(r.Runnable) * turn
	c.learn(r, dt, now, base)
	if c.overload {
		base = max(r.Aim.Seconds(), min(leastQueue*queue, max(heldQueue*queue, heldWait)))
	}
	c.trend.add(float64(r.Runnable), dt)
	c.wait += (now - c.wait) / 2
	c.aim = base*(1+min(1, c.mix.topShed()/topShedFully)) + otherWaits*c.background.floor
	c.steer(dt)
	c.mix.spread(c.Share())
}

// state returns whether calls wait for a processor, and too long. It is calm if others are the reason,
// because a call that yields would have to wait for them once more.
func (c *Controller) state(r *Reading) uint32 {
	waits := r.Runnable >= r.Processors && c.wait > max(r.Aim.Seconds()/4, 2*c.background.floor)
	switch {
	case c.overload || c.err > 0:
		return overloaded
	case waits:
		return crowded
	}
	return calm
}

// shortWait returns the wait from which a turn counts. Go hands a processor on to a goroutine that the
// one before has just woken, which has not waited like the others.
func (c *Controller) shortWait() float64 { return c.wait * shortPart }

// Share returns the share of the demand that is shed.
func (c *Controller) Share() float64 { return 1 - math.Exp(-c.refusing) }

// said returns the share for callers: more than 0 until the overload has ended. Clients that shed in place of the
// server leave it nothing to shed for moments. If it said then that it is calm, they would begin anew each time.
func (c *Controller) said() float64 {
	if c.overload {
		return max(c.Share(), math.SmallestNonzeroFloat64)
	}
	return c.Share()
}

// learn finds out how long a goroutine waits for others than requests. If that explains the wait, the
// overload has been none.
func (c *Controller) learn(r *Reading, dt, now, base float64) {
	switch {
	case !c.overload:
		c.background.watch(now, dt, r, base)
	case c.trial.on:
		if c.background.test(now, dt, r) {
			c.trial = trial{}
			c.overload, c.refusing, c.above, c.wait, c.err = false, 0, 0, 0, -1
			c.trend = trend{}
		}
	default:
		c.background.keep(dt)
	}
	c.background.limit(now, dt)
}

// steer moves the share that is shed.
func (c *Controller) steer(dt float64) {
	before := c.err
	c.err = min(c.wait/c.aim-1, worst)
	c.again -= dt
	if !c.overload && !c.begins(dt) {
		return
	}
	if !c.shadow && c.trial.runs(c, dt) {
		return
	}
	gain := integralGain
	if c.err < -0.5 {
		gain *= releaseFaster
	}
	step := gain*c.err*dt/tick.Seconds() + proportionalGain*(c.err-before)
	if c.err >= 1 && c.trend.drains(shortDrain) {
		step = min(step, -integralGain*dt/tick.Seconds())
	}
	c.refusing = min(max(0, c.refusing+step), -math.Log(leastAdmitted))
	if c.calms(dt) {
		c.overload, c.above, c.refusing, c.again = false, 0, 0, againTime
	}
}

// calms reports whether the overload has ended: nothing had to be shed for a moment, or for longer hardly
// anything, while the wait was mostly below the aim.
func (c *Controller) calms(dt float64) bool {
	switch {
	case c.refusing == 0 && c.err <= 0:
		c.calm += dt
	case c.refusing < hardlyAny && c.trial.mean < 0:
		c.calm += dt * calmTime
	default:
		c.calm = 0
	}
	return c.calm > calmTime
}

func (c *Controller) begins(dt float64) bool {
	if c.err <= 0 {
		c.above = 0
		return false
	}
	c.above += dt
	long := c.above >= longestPatience || c.above >= patience && (c.again > 0 || c.wait > manyAims*c.aim)
	if !long || c.trend.drains(shortDrain) {
		return false
	}
	c.trial.rest()
	c.overload, c.calm = true, 0
	return true
}
