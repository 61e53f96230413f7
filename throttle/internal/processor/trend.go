package processor

// trendTicks is the number of ticks over which a change counts.
const trendTicks = 6

// trend is how fast the number of runnable goroutines changes.
type trend struct {
	numbers [trendTicks]float64 // of the last ticks
	times   [trendTicks]float64 // seconds of each tick
	tick    int
	slope   float64 // per second
}

// add adds the number at a tick. The slope is that to the oldest number: so a jump is over soon.
func (t *trend) add(number, dt float64) {
	at := t.tick % trendTicks
	oldest := t.numbers[at]
	t.numbers[at], t.times[at] = number, dt
	t.tick++
	span := 0.0
	for _, d := range t.times {
		span += d
	}
	t.slope = 0
	if t.tick > trendTicks {
		t.slope = (number - oldest) / span
	}
}

// drains reports whether the queue will have ended within some seconds, if it goes on like this.
func (t *trend) drains(within float64) bool {
	last := t.numbers[(t.tick+trendTicks-1)%trendTicks]
	return t.slope < 0 && last < -t.slope*within
}
