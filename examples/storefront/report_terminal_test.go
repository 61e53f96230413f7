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
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := fmt.Fprintf(shared, "%d and\n%d\n", i, i); err != nil {
					t.Errorf("Write: got error %v want nil", err)
				}
			}
		})
	}
	wg.Wait()
	lines := strings.Fields(strings.ReplaceAll(out.String(), " and\n", "="))
	for _, line := range lines {
		if first, second, _ := strings.Cut(line, "="); first != second {
			t.Errorf("output: got %q want both from the same writer", line)
		}
	}
	if len(lines) != 800 {
		t.Errorf("output: got %d lines want 800", len(lines))
	}
	if _, err := (&terminal{out: broken{}}).Write([]byte("x")); err == nil {
		t.Error("Write to a full disk: got no error")
	}
}
