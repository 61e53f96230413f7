// Package narrator tells the story of an example while it happens: act by act, line by line, each with its time.
package narrator

import (
	"fmt"
	"io"
	"time"
)

// Narrator writes the story. It keeps the first error, so that not everybody has to.
type Narrator struct {
	to    io.Writer
	begun time.Time
	err   error
}

// New returns a narrator whose story begins now.
func New(to io.Writer) *Narrator { return &Narrator{to: to, begun: time.Now()} }

// Act writes the heading of an act.
func (n *Narrator) Act(format string, args ...any) {
	n.Printf("\n%s\n", fmt.Sprintf(format, args...))
}

// Line writes what has happened, and when.
func (n *Narrator) Line(format string, args ...any) {
	n.Printf("%6.1f s  %s\n", time.Since(n.begun).Seconds(), fmt.Sprintf(format, args...))
}

// Printf writes what belongs to no moment.
func (n *Narrator) Printf(format string, args ...any) {
	if _, err := fmt.Fprintf(n.to, format, args...); err != nil && n.err == nil {
		n.err = err
	}
}

// Write writes a part of a table. Its error is nil: Err has it.
func (n *Narrator) Write(text []byte) (int, error) {
	n.Printf("%s", text)
	return len(text), nil
}

// Err returns the first error of writing.
func (n *Narrator) Err() error { return n.err }
