package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// halting is an output that lets others have their turn in the middle of what is written.
type halting struct{ strings.Builder }

func (h *halting) Write(p []byte) (int, error) {
	for _, b := range p {
		h.WriteByte(b)
		runtime.Gosched()
	}
	return len(p), nil
}

func TestTerminalKeepsTogetherWhatIsWrittenAtOnce(t *testing.T) {
	var out halting
	shared := &terminal{out: &out}
	var wg sync.WaitGroup
	for range 800 {
		wg.Go(func() { _, _ = fmt.Fprint(shared, "some words\n") })
	}
	wg.Wait()
	if out.String() != strings.Repeat("some words\n", 800) {
		t.Errorf("output: got lines that are mixed:\n%s", out.String())
	}
}
