package main

import "time"

// counts are what has become of calls, and how many units there were for them.
type counts struct {
	written, throttled int
	offered            float64
}

// mark is a moment, what there had been up to it, and what was saved up.
type mark struct {
	at time.Time
	counts
	credit float64
}

// stretch is some time, and what there was in it.
type stretch struct {
	took               time.Duration
	written, throttled int
	units              float64 // that were used or lost: those saved up before, and those that came, without those that are saved up still
}

// since returns what has been since an earlier mark.
func (m mark) since(earlier mark) stretch {
	return stretch{
		took: m.at.Sub(earlier.at), written: m.written - earlier.written, throttled: m.throttled - earlier.throttled,
		units: earlier.credit + m.offered - earlier.offered - m.credit,
	}
}

// used is how many of the units were.
func (t stretch) used() float64 {
	if t.units <= 0 {
		return 0
	}
	return float64(t.written) / t.units
}

// perSecond is how many items were written per second.
func (t stretch) perSecond() float64 {
	if t.took <= 0 {
		return 0
	}
	return float64(t.written) / t.took.Seconds()
}

// throttledShare is how many calls were, of all.
func (t stretch) throttledShare() float64 {
	return float64(t.throttled) / float64(max(1, t.written+t.throttled))
}
