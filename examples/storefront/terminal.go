package main

import (
	"io"
	"sync"
)

// terminal is an output that several may write to: what one of them writes at once stays together.
type terminal struct {
	mu  sync.Mutex
	out io.Writer
}

// Write writes all of p before anybody else writes.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}
