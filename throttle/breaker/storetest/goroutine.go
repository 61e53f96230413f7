package storetest

import (
	"path"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// expectGoroutines wants the count to fall below what it was before, plus some. Those that are about to end may take their time.
func (r *rig) expectGoroutines(after string, before, tolerance int, count func() int) {
	r.Helper()
	var now int
	for end := time.Now().Add(patience); time.Now().Before(end); r.pause(grain) {
		if now = count(); now < before+tolerance {
			return
		}
	}
	r.Errorf("there were %d goroutines, and %d after %s, want no more. All that run now:\n%s",
		before, now, after, strings.Join(stacks(), "\n\n"))
}

func allGoroutines() int { return runtime.NumGoroutine() }

// goroutinesOf returns a func that counts the goroutines which were started by the package of the store's type, or run in it.
func goroutinesOf(s breaker.Store) func() int {
	t := reflect.TypeOf(s)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	dir, name := path.Split(t.PkgPath())
	prefix := dir + strings.ReplaceAll(name, ".", "%2e") + "." // as stacks write it
	return func() int {
		n := 0
		for _, stack := range stacks() {
			if strings.Contains(stack, "\n"+prefix) || strings.Contains(stack, "\ncreated by "+prefix) {
				n++
			}
		}
		return n
	}
}

// stacks returns the stack of every goroutine.
func stacks() []string {
	for size := 1 << 16; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size {
			return strings.Split(string(text[:n]), "\n\n")
		}
	}
}
