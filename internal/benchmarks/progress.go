package main

import (
	"fmt"
	"os"
)

// progress prints the progress of a run to a terminal. A nil progress prints nothing.
type progress struct {
	terminal *os.File
	rounds   int
}

// newProgress returns nil unless f is a terminal.
func newProgress(f *os.File, rounds int) *progress {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{terminal: f, rounds: rounds}
}

// at prints that a round begins. The call after the last round clears the line.
func (p *progress) at(round int) {
	switch {
	case p == nil:
	case round == p.rounds:
		p.print("")
	case round%10 == 0:
		p.print(fmt.Sprintf("round %d of %d", round, p.rounds))
	}
}

// print replaces the last text.
func (p *progress) print(text string) {
	if p != nil {
		fmt.Fprint(p.terminal, "\r\x1b[K"+text)
	}
}
