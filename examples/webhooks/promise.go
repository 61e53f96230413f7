package main

import "time"

// promise is what the breaker promises, and what came of it.
type promise struct {
	what               string
	promised, measured string
	verdict            verdict
}

// verdict is whether a promise was kept.
type verdict string

const (
	isKept   verdict = "kept"
	isLate   verdict = "late" // by the clock of a machine that may have been busy
	isBroken verdict = "BROKEN"
)

// promises are all of them.
type promises []promise

// timed adds a promise about time. That it comes true at all is waited for elsewhere; when it does is up to the machine as well.
func (p *promises) timed(what string, promised, measured time.Duration) {
	v := isKept
	if measured > promised {
		v = isLate
	}
	*p = append(*p, promise{what, "within " + span(promised), span(measured), v})
}

// counted adds a promise that has nothing to do with time.
func (p *promises) counted(what, promised, measured string, good bool) {
	v := isKept
	if !good {
		v = isBroken
	}
	*p = append(*p, promise{what, promised, measured, v})
}

// kept reports whether none was broken.
func (p promises) kept() bool {
	for _, one := range p {
		if one.verdict == isBroken {
			return false
		}
	}
	return true
}
