package storetest

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

const rounds = 20

// UseLeavesNoGoroutine uses the first handle again and again, and counts the goroutines that were
// started by this. It makes one call at a time, so that pools of connections do not grow.
func (f *Fixture[S]) UseLeavesNoGoroutine(use func(S)) {
	f.Helper()
	const tolerance = rounds / 2 // goroutines of other packages may start and end
	f.started("", func(count func() (int, string)) {
		for range 3 {
			use(f.Store)
		}
		before, _ := count()
		for range rounds {
			use(f.Store)
		}
		f.expectGoroutines("calling every method 20 times, also with contexts that have ended", before, tolerance, count)
	})
}

// CloseLeavesNoGoroutine uses and closes handles. Of the goroutines that were started by this, it counts
// those in the store's own package, because a handle may share a client that lives longer.
func (f *Fixture[S]) CloseLeavesNoGoroutine(use func(S)) {
	f.Helper()
	f.started(packageOf(f.Store), func(count func() (int, string)) {
		use(f.Store)
		before, _ := count()
		for range rounds {
			s := f.Handle()
			use(s)
			f.Must(s.Close(), "Close")
		}
		f.expectGoroutines("using and closing 20 handles", before, 1, count)
	})
}

// expectGoroutines waits until count returns less than before plus tolerance.
func (f *Fixture[S]) expectGoroutines(after string, before, tolerance int, count func() (int, string)) {
	f.Helper()
	var now int
	var stacks string
	for pause, end := Tick, time.Now().Add(Patience); time.Now().Before(end); pause *= 2 {
		if now, stacks = count(); now < before+tolerance {
			return
		}
		f.Pause(pause)
	}
	f.Errorf("goroutines after %s: got %d, want fewer than %d (%d before). They are:\n%s",
		after, now, before+tolerance, before, stacks)
}

// packageOf returns the path of a type's package, with a dot after it, as stacks write it.
func packageOf(value any) string {
	t := reflect.TypeOf(value)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	dir, name := path.Split(t.PkgPath())
	return dir + strings.ReplaceAll(name, ".", "%2e") + "."
}

// started calls do. Its count returns the number and the stacks of the goroutines that do has started, itself or
// through others, and that run a func whose name begins with in. They inherit a label from do: goroutines of tests that
// run at the same time, and may use the same package, do not count.
func (f *Fixture[S]) started(in string, do func(count func() (int, string))) {
	const key = "storetest"
	value := fmt.Sprintf("%p", f)
	count := func() (n int, stacks string) {
		var profile strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			panic(err)
		}
		_, groups, _ := strings.Cut(profile.String(), "\n") // of goroutines that have the same stack
		for group := range strings.SplitSeq(groups, "\n\n") {
			if strings.Contains(group, fmt.Sprintf("%q:%q", key, value)) && strings.Contains(group, "\t"+in) {
				size, _, _ := strings.Cut(group, " ")
				same, _ := strconv.Atoi(size)
				n, stacks = n+same, stacks+group+"\n\n"
			}
		}
		return n, stacks
	}
	pprof.Do(context.Background(), pprof.Labels(key, value), func(context.Context) { do(count) })
}
