package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"github.com/spillway-go/spillway/throttle"
)

// errBusy is the answer of a backend that is out of capacity, errPlain that of one that works.
var (
	errBusy  = faults.Unavailable(0)
	errPlain = errors.New("no such product")
)

// unlucky draws shed whatever may be shed, lucky ones let everything through: the two ends of Config.Rand.
func unlucky() float64 { return 0 }

func lucky() float64 { return math.Nextafter(1, 0) }

// build returns a throttle with the policy SRE, whose probabilities are easy to compute.
func build(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Policy = throttle.SRE
	return buildTiered(t, c)
}

// buildTiered returns a throttle with the policy of c, by default Tiered. It needs no name of its
// own.
func buildTiered(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	if c.Name == "" {
		c.Name = "backend"
	}
	th, err := throttle.New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c, err)
	}
	return th
}

// shedding returns a throttle that sheds every call of High priority, because the backend has rejected some and the draws
// are unlucky.
func shedding(t testing.TB, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Rand = unlucky
	th := build(t, c)
	overload(t, th, throttle.High)
	return th
}

// overload makes calls that the backend rejects until the throttle sheds one, which takes unlucky draws.
func overload(t testing.TB, th *throttle.Throttle, p throttle.Priority) {
	t.Helper()
	for range 1000 {
		if err := th.Do(context.Background(), p, returns(errBusy)); errors.Is(err, throttle.ErrShed) {
			return
		}
	}
	t.Fatalf("got no call of %v priority shed after 1000 rejections, want one", p)
}

// times makes n calls that end with err.
func times(n int, th *throttle.Throttle, p throttle.Priority, err error) {
	for range n {
		_ = th.Do(context.Background(), p, returns(err))
	}
}

// returns is a function that does nothing but return err.
func returns(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// unwanted is a function that must not run.
func unwanted(t testing.TB) func(context.Context) error {
	return func(context.Context) error {
		t.Helper()
		t.Error("got the function called, want it left alone")
		return nil
	}
}

// unwantedFallback is a fallback that must not run.
func unwantedFallback(t testing.TB) throttle.Fallback {
	return func(_ context.Context, err error, local bool) error {
		t.Helper()
		t.Errorf("got the fallback called with (%v, %v), want it left alone", err, local)
		return nil
	}
}

// equal fails the test if got is not want.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v want %v", what, got, want)
	}
}

// tier is what the throttle knows of one priority.
func tier(th *throttle.Throttle, p throttle.Priority) throttle.PriorityStats {
	return th.Stats().Priorities[p]
}

// inFlight is how many calls of any priority are admitted and not ended.
func inFlight(th *throttle.Throttle) int64 {
	var n int64
	for _, p := range th.Stats().Priorities {
		n += p.InFlight
	}
	return n
}

// wantAdmitted fails the test if the calls of priority p that ended are not n of this outcome and fault, and no others.
func wantAdmitted(t testing.TB, th *throttle.Throttle, p throttle.Priority, n uint64, o throttle.Outcome, f throttle.Fault) {
	t.Helper()
	var want throttle.Totals
	want.Add(o, f, n)
	if got := tier(th, p).Ended; got != want {
		t.Errorf("admitted calls of %v priority: got %s want %s", p, describe(got), describe(want))
	}
}

// describe lists the totals that are not zero.
func describe(totals throttle.Totals) string {
	var words []string
	for t := range totals.All() {
		words = append(words, fmt.Sprintf("%d %v/%v", t.Calls, t.Outcome, t.Fault))
	}
	return fmt.Sprint(words)
}

// wantUsable fails the test unless the throttle is idle and still makes calls.
func wantUsable(t testing.TB, th *throttle.Throttle) {
	t.Helper()
	equal(t, "calls in flight", inFlight(th), 0)
	ran := false
	err := th.Do(throttle.WithPriority(context.Background(), throttle.Low), throttle.Low, func(context.Context) error {
		ran = true
		return nil
	})
	if err != nil || !ran {
		t.Errorf("the next call: got error %v and ran %v, want nil and true", err, ran)
	}
}

// admit begins a call.
func admit(t *testing.T, th *throttle.Throttle, p throttle.Priority) throttle.Call {
	t.Helper()
	call, err := th.Admit(context.Background(), p)
	if err != nil {
		t.Fatalf("Admit: got error %v want nil", err)
	}
	return call
}

// tune changes a throttle, which must succeed.
func tune(t testing.TB, th *throttle.Throttle, change throttle.Patch) {
	t.Helper()
	if err := th.Tune(change); err != nil {
		t.Errorf("Tune: got error %v want nil", err)
	}
}

// setMode changes the mode of a running throttle.
func setMode(t testing.TB, th *throttle.Throttle, mode throttle.Mode) {
	t.Helper()
	tune(t, th, throttle.Patch{Mode: &mode})
}

// ran makes a call, and reports whether its function was called.
func ran(th *throttle.Throttle, p throttle.Priority, end error) bool {
	did := false
	_ = th.Do(context.Background(), p, func(context.Context) error { did = true; return end })
	return did
}

func count(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// valued is a function that returns value and err.
func valued[T any](value T, err error) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return value, err }
}

// own is an error type of a caller.
type own struct{}

func (*own) Error() string { return "own" }

// timeout is an error whose Timeout method returns it.
type timeout bool

func (timeout) Error() string { return "took its time" }

func (t timeout) Timeout() bool { return bool(t) }

// exits are the ways to leave a function without returning from it.
var exits = map[string]func(){
	"panic":      func() { panic("boom") },
	"panic(nil)": func() { panic(nil) },
	"Goexit":     runtime.Goexit,
}

// leave runs f on a goroutine of its own, and fails the test unless f panics or exits as the exit
// of that name does.
func leave(t *testing.T, exit string, f func()) {
	t.Helper()
	returned, recovered := false, any(nil)
	elsewhere(func() {
		defer func() { recovered = recover() }()
		f()
		returned = true
	})
	var nilPanic *runtime.PanicNilError
	err, _ := recovered.(error)
	ok := !returned
	switch exit {
	case "panic":
		ok = ok && recovered == any("boom")
	case "panic(nil)":
		ok = ok && errors.As(err, &nilPanic)
	case "Goexit":
		ok = ok && recovered == nil
	}
	if !ok {
		t.Errorf("%s: got returned %v and recovered %v, want it to go on up", exit, returned, recovered)
	}
}

// inTime fails the test if f does not end, because it waits for a lock that its own goroutine holds.
func inTime(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("got no end, want one: a lock is held")
	}
}

// everyPriority are all the values that a Priority can have.
func everyPriority(yield func(throttle.Priority) bool) {
	for p := math.MinInt8; p <= math.MaxInt8; p++ {
		if !yield(throttle.Priority(p)) {
			return
		}
	}
}

// sized returns quick with go test -short, and full without: the size of a test.
func sized[T any](full, quick T) T {
	if testing.Short() {
		return quick
	}
	return full
}

// bubble is the function of a subtest that runs f in a bubble of its own.
func bubble(f func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}

// parallel runs f on n goroutines at once, with their numbers, and waits for all.
func parallel(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
