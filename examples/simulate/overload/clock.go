package overload

import "time"

// clock is the time of a case, which moves only when it is told to. Real, it moves the clock of the surrounding
// bubble, for policies that look at no other.
type clock struct {
	real  bool
	at    time.Duration // since the case began
	began time.Time
}

// newClock returns a clock at the beginning of a case.
func newClock(bubble bool) *clock {
	return &clock{real: bubble, began: time.Unix(0, 0)}
}

// now is the time as policies see it.
func (c *clock) now() time.Time {
	if c.real {
		return time.Now()
	}
	return c.began.Add(c.at)
}

// advance moves the clock.
func (c *clock) advance(to time.Duration) {
	if c.real {
		time.Sleep(to - c.at)
	}
	c.at = to
}
