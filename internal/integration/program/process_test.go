package program

import (
	"strings"
	"testing"
)

// TestProcess_EarlyEnd starts a program that ends with an error at once.
func TestProcess_EarlyEnd(t *testing.T) {
	p := Start(t, Find(t, "coreutils", "ls"), "/no such file")
	<-p.ended
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "before it was interrupted") || p.Output() == "" {
		t.Errorf("stop: got error %v and output %q want errEarly and an error message", err, p.Output())
	}
	p.mayEnd = true
}
