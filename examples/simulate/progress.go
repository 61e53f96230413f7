package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

const clearLine = "\r\x1b[K"

// progress shows on a terminal how many runs are complete. The methods of a nil progress do nothing.
type progress struct {
	terminal io.Writer
	runs     int

	mu   sync.Mutex
	done int
}

// newProgress returns nil unless f is a terminal.
func newProgress(f *os.File, s settings) *progress {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &progress{terminal: f, runs: len(plan(s))}
}

// add shows that more runs are complete.
func (p *progress) add(runs int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += runs
	fmt.Fprintf(p.terminal, clearLine+"%d of %d runs", p.done, p.runs)
}

func (p *progress) clear() {
	if p != nil {
		fmt.Fprint(p.terminal, clearLine)
	}
}
