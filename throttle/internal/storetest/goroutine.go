package storetest

import (
	"path"
	"reflect"
	"runtime"
	"strings"
	"time"
)

const rounds = 20

// UseLeavesNoGoroutine uses the first handle again and again, and counts all goroutines. It makes
// one call at a time, so that pools of connections do not grow.
func (f *Fixture[S]) UseLeavesNoGoroutine(use func(S)) {
	f.Helper()
	const tolerance = rounds / 2 // goroutines of other packages may start and end
	for range 3 {
		use(f.Store)
	}
	before := runtime.NumGoroutine()
	for range rounds {
		use(f.Store)
	}
	f.expectGoroutines("calling every method 20 times, also with contexts that have ended",
		before, tolerance, runtime.NumGoroutine)
}

// CloseLeavesNoGoroutine uses and closes handles. It counts the goroutines of the store's own
// package, because a handle may share a client that lives longer.
func (f *Fixture[S]) CloseLeavesNoGoroutine(use func(S)) {
	f.Helper()
	count := goroutinesOf(f.Store)
	use(f.Store)
	before := count()
	for range rounds {
		s := f.Handle()
		use(s)
		f.Must(s.Close(), "Close")
	}
	f.expectGoroutines("using and closing 20 handles", before, 1, count)
}

// expectGoroutines waits until count returns less than before plus tolerance.
func (f *Fixture[S]) expectGoroutines(after string, before, tolerance int, count func() int) {
	f.Helper()
	var now int
	for end := time.Now().Add(Patience); time.Now().Before(end); f.Pause(Tick) {
		if now = count(); now < before+tolerance {
			return
		}
	}
	f.Errorf("goroutines after %s: got %d, want fewer than %d (%d before). All goroutines:\n%s",
		after, now, before+tolerance, before, strings.Join(stacks(), "\n\n"))
}

// goroutinesOf returns a func that counts the goroutines that the package of a value's type has
// started, or that run a func of that package.
func goroutinesOf(value any) func() int {
	t := reflect.TypeOf(value)
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
