package storetest

import (
	"runtime"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/goroutines"
)

// expectGoroutines wants the count to fall below what it was before, plus some. Those that are about to end may take their time.
func (r *rig) expectGoroutines(after string, before, tolerance int, count func() int) {
	r.Helper()
	var now int
	for end := time.Now().Add(patience); time.Now().Before(end); r.pause(moment) {
		if now = count(); now < before+tolerance {
			return
		}
	}
	r.Errorf("there were %d goroutines, and %d after %s, want no more. All that run now:\n%s",
		before, now, after, strings.Join(goroutines.Stacks(), "\n\n"))
}

func allGoroutines() int { return runtime.NumGoroutine() }
