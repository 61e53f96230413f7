package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

const (
	// patience is how long a case waits for what must happen. It is only used up by a store that fails.
	patience = 30 * time.Second
	// long is the life of what must not end during a case.
	long = time.Hour
	// slack is what a duration of an hour may be off, for clocks that somebody sets meanwhile.
	slack = 10 * time.Second
	// grain is what a short duration may be off, for clocks that count milliseconds.
	grain = 5 * time.Millisecond
)

// reporter is the part of *testing.T that cases use, so that the suite can be tested with another one.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// rig is what a case works with: storage that was empty, and a first handle to it.
type rig struct {
	reporter
	open   func() func() store.Store // makes other storage
	handle func() store.Store        // gives another handle
	store  store.Store               // the first handle
}

func newRig(t reporter, open func() func() store.Store) *rig {
	r := &rig{reporter: t, open: open}
	r.handle = r.closing(open())
	r.store = r.handle()
	return r
}

// closing makes the end of the case close what handle gives.
func (r *rig) closing(handle func() store.Store) func() store.Store {
	if handle == nil {
		r.Fatalf("open returned nil, want a func that gives handles")
	}
	return func() store.Store {
		s := handle()
		if s == nil {
			r.Fatalf("the func that open returned gave a nil Store")
		}
		r.Cleanup(func() {
			if err := s.Close(); err != nil {
				r.Errorf("Close: got error %v, want none", err)
			}
		})
		return s
	}
}

// emptied returns a handle to other storage: what is left of a storage that has lost everything.
func (r *rig) emptied() store.Store {
	return r.closing(r.open())()
}

// handles returns n more handles.
func (r *rig) handles(n int) []store.Store {
	all := make([]store.Store, n)
	for i := range all {
		all[i] = r.handle()
	}
	return all
}

// within calls f with a context that lasts as long as the patience.
func (r *rig) within(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return f(ctx)
}

// ruleError says which rule an answer breaks, other than an error that a store returned.
type ruleError string

func (e ruleError) Error() string { return string(e) }

func breach(format string, args ...any) error { return ruleError(fmt.Sprintf(format, args...)) }

// must fails the case if there is an error.
func (r *rig) must(err error, format string, args ...any) {
	r.Helper()
	what := fmt.Sprintf(format, args...)
	if rule, ok := errors.AsType[ruleError](err); ok {
		r.Fatalf("%s: %v", what, rule)
	}
	if err != nil {
		r.Fatalf("%s: got error %v, want none", what, err)
	}
}

// pause lets a little time go by.
func (r *rig) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// until waits for done to return true, and fails the case if it does not for long.
func (r *rig) until(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(patience); !done(); r.pause(grain) {
		if time.Now().After(end) {
			r.Fatalf("waited %v, but %s", patience, what)
		}
	}
}

// untilStoreTime waits for the store's clock.
func (r *rig) untilStoreTime(at time.Time) {
	r.Helper()
	r.until(fmt.Sprintf("the store's clock (Versions().Now) has not reached %v", at), func() bool {
		return r.versions(r.store).Now.After(at)
	})
}

// together runs n workers at once and fails the case with their errors.
func (r *rig) together(n int, work func(i int) error) {
	r.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = work(i)
		})
	}
	close(begin)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			r.Fatalf("worker %d of %d at once: %v", i, n, err)
		}
	}
}

// expectBetween wants a duration within bounds.
func (r *rig) expectBetween(what string, got, low, high time.Duration) {
	r.Helper()
	if got < low || got > high {
		r.Errorf("%s: got %v, want %v to %v", what, got, low, high)
	}
}
