package storetest

import (
	"runtime"
	"strings"
	"testing"
)

type mine struct{}

func TestGoroutinesOf_CountsOnlyThePackageOfTheValue(t *testing.T) {
	count, others := goroutinesOf(&mine{}), goroutinesOf(&strings.Builder{})
	before, started, end := count(), make(chan struct{}), make(chan struct{})
	for range 3 {
		go func() { started <- struct{}{}; <-end }()
		<-started
	}
	if got := count() - before; got != 3 {
		t.Errorf("got %d more want 3", got)
	}
	if got := others(); got != 0 {
		t.Errorf("of package strings: got %d want none", got)
	}
	if got := len(stacks()); got < 4 {
		t.Errorf("got %d stacks want at least 4", got)
	}
	close(end)
	for count() > before { // so that this test can run again
		runtime.Gosched()
	}
}
