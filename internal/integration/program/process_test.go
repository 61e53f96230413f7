package program

import (
	"strings"
	"testing"
)

// TestAnEarlyEndIsNoticed starts a program that ends with an error at once.
func TestAnEarlyEndIsNoticed(t *testing.T) {
	p := Start(t, Find(t, "coreutils", "ls"), "/no such file")
	<-p.ended
	if err := p.leave(); err == nil || !strings.Contains(err.Error(), "before it was asked") || p.Said() == "" {
		t.Errorf("leave: got error %v and output %q want one that says it was too early, and what is wrong", err, p.Said())
	}
	p.given = true
}
