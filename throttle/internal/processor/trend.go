package processor

import "math"

// trendMemory is how long a change of the wait counts, in seconds.
const trendMemory = 0.05

// trend is how fast the wait changes.
type trend struct {
	last  float64
	slope float64 // seconds per second
}

// add adds the wait at a tick.
func (t *trend) add(wait, dt float64) {
	weight := 1 - math.Exp(-dt/trendMemory)
	t.slope += weight * ((wait-t.last)/dt - t.slope)
	t.last = wait
}

// drains reports whether a queue of this wait is gone within some seconds, if it goes on like this.
func (t *trend) drains(wait, within float64) bool {
	return t.slope < 0 && wait < -t.slope*within
}
