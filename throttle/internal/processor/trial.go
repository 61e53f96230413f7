package processor

import "math"

const (
	// A trial begins if the wait has been above the aim for longestStruggle although calls are shed. It
	// lasts until the wait falls, or until it is clear that it does not, at most longestTrial.
	longestStruggle = 1.0
	longestTrial    = 3.0
	meanTime        = 0.5
	// The pause before the next trial doubles with each that has not shown anything.
	firstPause, longestPause = 10.0, 60.0
)

// trial is a time in which nearly all calls are shed, to see whether that helps.
type trial struct {
	on       bool
	struggle float64 // for how long the wait has been above the aim
	mean     float64 // of the error of about a second
	left     float64 // of the trial, or until the next may begin
	pause    float64
	before   float64 // Controller.refusing
	wait     float64 // before
}

// rest forgets an overload that has ended.
func (t *trial) rest() { t.mean, t.struggle = 0, 0 }

// runs reports whether a trial runs. It begins and ends it.
func (t *trial) runs(c *Controller, dt float64) bool {
	t.left -= dt
	t.mean += (c.err - t.mean) * (1 - math.Exp(-dt/meanTime))
	if t.mean <= 0.1 {
		t.struggle = 0
	} else {
		t.struggle += dt
	}
	switch {
	case t.on && (c.wait < t.wait/2 || t.left <= 0):
		t.rest()
		t.on, c.refusing = false, t.before
		t.pause = min(max(2*t.pause, firstPause), longestPause)
		t.left = t.pause
	case !t.on && t.struggle >= longestStruggle && t.left <= 0:
		t.on, t.left, t.before, t.wait = true, longestTrial, c.refusing, min(c.background.mean, c.aim)
		c.refusing = -math.Log(leastAdmitted)
	}
	return t.on
}
