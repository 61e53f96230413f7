package main

import (
	"fmt"
	"os"
)

// progress tells a terminal how far a run has come. A nil one tells nobody.
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

// at tells that a round begins; the one after the last wipes the line.
func (p *progress) at(round int) {
	switch {
	case p == nil:
	case round == p.rounds:
		p.tell("")
	case round%10 == 0:
		p.tell(fmt.Sprintf("round %d of %d", round, p.rounds))
	}
}

// tell puts a text in the place of the last one.
func (p *progress) tell(text string) {
	if p != nil {
		fmt.Fprint(p.terminal, "\r\x1b[K"+text)
	}
}
