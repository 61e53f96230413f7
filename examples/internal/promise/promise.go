// Package promise keeps what an example promises, and what came of it.
package promise

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spillway-go/spillway/examples/internal/narrator"
)

// Verdict is whether a promise was kept.
type Verdict string

// The verdicts. Only a broken promise is a reason to fail.
const (
	Kept   Verdict = "kept"
	Late   Verdict = "late"   // by the clock of a machine that may have been busy
	Missed Verdict = "missed" // for another reason that may be the machine's
	Broken Verdict = "BROKEN"
)

// Judge returns the verdict on what is good or not.
func Judge(good bool) Verdict {
	if good {
		return Kept
	}
	return Broken
}

// JudgeLeniently returns the verdict on what is good or not, where the machine may be at fault if it is not.
func JudgeLeniently(good, excused bool) Verdict {
	if !good && excused {
		return Missed
	}
	return Judge(good)
}

// Promise is what is promised, and what was measured.
type Promise struct {
	What               string
	Promised, Measured string
	Verdict            Verdict
}

// Promises are all of a story, in the order in which they were judged.
type Promises []Promise

// Add adds a promise.
func (p *Promises) Add(what, promised, measured string, v Verdict) {
	*p = append(*p, Promise{what, promised, measured, v})
}

// Timed adds a promise about time. That it comes true at all is waited for elsewhere; when it does is up to the machine as well.
func (p *Promises) Timed(what string, promised, measured time.Duration) {
	v := Kept
	if measured > promised {
		v = Late
	}
	p.Add(what, "within "+narrator.Span(promised), narrator.Span(measured), v)
}

// Kept reports whether none was broken.
func (p Promises) Kept() bool {
	for _, one := range p {
		if one.Verdict == Broken {
			return false
		}
	}
	return true
}

// Write writes a table of all promises, one per line.
func (p Promises) Write(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  promise\tpromised\tmeasured\t\n")
	for _, one := range p {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", one.What, one.Promised, one.Measured, one.Verdict)
	}
	return w.Flush()
}
