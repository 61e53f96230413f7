package backoff

import "time"

// The way back in the mode Pace, from a delay that an outage has made.
const (
	outage      = 8 // steps up with nothing served between: that is no search for the right delay any more
	nearKnee    = 2 // times the delay at which the service was seen at its limit: from there on the steps are those of the settings
	quickFactor = 0.25
)

// dial is the delay, and what moves it. It knows no clock and no lock.
type dial struct {
	config     *Config
	interval   time.Duration
	generation uint64 // of the delay: it grows with each step up
	steps      uint64 // up and down
	successes  int    // in a row, of this generation since the last step
	served     bool   // some call of this generation has succeeded

	knee   time.Duration // the delay at which the service was seen at its limit: it served some, and throttled others
	dark   int           // steps up since a call has succeeded
	quick  bool          // on the way back from an outage
	before time.Duration // the delay before the last step of that way
}

// throttled takes the step up that the first throttled call of a generation makes. It reports whether it was that.
func (d *dial) throttled(generation uint64) bool {
	if generation != d.generation {
		return false
	}
	if d.served {
		d.knee = d.interval
	}
	d.raise()
	return true
}

// raise takes one step up. On the way back from an outage that is to where the last step came from: it went too far.
func (d *dial) raise() {
	next := max(d.config.Up.Next(d.interval), d.interval, d.config.InitialInterval)
	if d.quick {
		next, d.quick = max(next, d.before), false
	}
	d.interval = min(next, d.config.MaxInterval)
	d.generation++
	d.steps++
	d.dark++
	d.successes, d.served = 0, false
}

// succeeded counts a success, and takes a step down if it is time. It reports whether it did.
func (d *dial) succeeded(generation uint64) bool {
	if generation != d.generation {
		return false
	}
	dark := d.dark
	d.served, d.dark = true, 0
	if d.interval == 0 {
		return false
	}
	d.successes++
	if d.config.Mode == Pace && dark >= outage {
		d.quick = true
	}
	d.quick = d.quick && d.interval > nearKnee*d.knee
	switch {
	case d.quick:
		d.before = d.interval
		d.lower(quickFactor)
	case d.successes >= d.config.DownMultiplierThreshold:
		d.lower(d.config.DownMultiplier)
	default:
		return false
	}
	return true
}

// lower takes one step down. What is less than the first delay is none.
func (d *dial) lower(by float64) {
	d.successes = 0
	d.steps++
	d.interval = time.Duration(float64(d.interval) * by)
	if d.interval < d.config.InitialInterval {
		d.interval = 0
	}
}

// forget starts anew. Calls that were let through before say nothing any more.
func (d *dial) forget() {
	steps := d.steps
	if d.interval > 0 {
		steps++
	}
	*d = dial{config: d.config, generation: d.generation + 1, steps: steps}
}

// noisy returns what is slept for a delay, given a random number from 0 to 1.
func (d *dial) noisy(random float64) time.Duration {
	factor := d.config.RandomizationFactor
	if factor <= 0 || d.interval == 0 {
		return d.interval
	}
	delta := min(factor*float64(d.interval), float64(d.config.MaxRandomization))
	low, high := float64(d.interval)-delta, min(float64(d.interval)+delta, float64(d.config.MaxInterval))
	return time.Duration(low + random*(high-low))
}
