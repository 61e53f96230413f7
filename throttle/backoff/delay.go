package backoff

import "time"

// Recovery from an outage, in mode Pace.
const (
	outageSteps    = 8    // steps up without a success: an outage, not a search for the right delay
	nearLimit      = 2    // a delay below this multiple of atLimit ends a recovery
	recoveryFactor = 0.25 // of the delay, at each success of a recovery
)

// delay is the present delay and its rules of growth. It reads no clock. The lock of Responsive
// guards it.
type delay struct {
	config     *Config
	interval   time.Duration
	generation uint64 // grows with each step up and each reset
	steps      uint64 // up and down
	successes  int    // in a row, of this generation, since the last step
	served     bool   // a call of this generation succeeded

	atLimit    time.Duration // last delay at which some calls succeeded and others were throttled
	upsInRow   int           // steps up since the last success
	recovering bool          // from an outage
	previous   time.Duration // delay before the last step of the recovery
}

// throttled records a throttled call of a generation. The first of the present generation makes a
// step up. It ends a recovery, and undoes its last step, which was too large.
func (d *delay) throttled(generation uint64) {
	if generation != d.generation {
		return
	}
	if d.served {
		d.atLimit = d.interval
	}
	next := max(d.config.next(d.interval), d.interval)
	if d.recovering {
		next, d.recovering = max(next, d.previous), false
	}
	d.interval = min(next, d.config.MaxInterval)
	d.generation++
	d.steps++
	d.upsInRow++
	d.successes, d.served = 0, false
}

// succeeded records a success of a generation, and makes a step down if it is time.
func (d *delay) succeeded(generation uint64) {
	if generation != d.generation {
		return
	}
	upsInRow := d.upsInRow
	d.served, d.upsInRow = true, 0
	if d.interval == 0 {
		return
	}
	d.successes++
	if d.config.Mode == Pace && upsInRow >= outageSteps {
		d.recovering = true
	}
	d.recovering = d.recovering && d.interval > nearLimit*d.atLimit
	switch {
	case d.recovering:
		d.previous = d.interval
		d.decrease(recoveryFactor)
	case d.successes >= d.config.DownMultiplierThreshold:
		d.decrease(d.config.DownMultiplier)
	}
}

// decrease makes one step down. A delay below InitialInterval becomes 0.
func (d *delay) decrease(factor float64) {
	d.successes = 0
	d.steps++
	d.interval = time.Duration(float64(d.interval) * factor)
	if d.interval < d.config.InitialInterval {
		d.interval = 0
	}
}

// reset sets the delay to 0 and begins a new generation, so that calls in flight no longer count.
func (d *delay) reset() {
	steps := d.steps
	if d.interval > 0 {
		steps++
	}
	*d = delay{config: d.config, generation: d.generation + 1, steps: steps}
}

// randomized returns the duration of one wait, for a random number from 0 to 1.
func (d *delay) randomized(random float64) time.Duration {
	factor := d.config.RandomizationFactor
	if factor <= 0 || d.interval == 0 {
		return d.interval
	}
	deviation := min(factor*float64(d.interval), float64(d.config.MaxRandomization))
	shortest := float64(d.interval) - deviation
	longest := min(float64(d.interval)+deviation, float64(d.config.MaxInterval))
	return time.Duration(shortest + random*(longest-shortest))
}
