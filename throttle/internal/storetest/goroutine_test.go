package storetest

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

type mine struct{}

func TestStarted_countsOnlyItsOwnGoroutinesInThePackage(t *testing.T) {
	f := new(Fixture[io.Closer])
	began, end := make(chan struct{}), make(chan struct{})
	wait := func() {
		go func() { began <- struct{}{}; <-end }()
		<-began
	}
	wait() // as a test that runs at the same time
	f.started(packageOf(&mine{}), func(count func() (int, string)) {
		before, _ := count()
		for range 3 {
			wait()
		}
		if got, stacks := count(); got != before+3 || !strings.Contains(stacks, "storetest.") {
			t.Errorf("got %d, %s want %d and their stacks", got, stacks, before+3)
		}
		close(end)
		for now := before + 1; now > before; now, _ = count() {
			runtime.Gosched()
		}
	})
	f.started(packageOf(&strings.Builder{}), func(count func() (int, string)) {
		if got, _ := count(); got != 0 {
			t.Errorf("of package strings: got %d want none", got)
		}
	})
}
