// Package storetest is shared by the conformance suites bucket/storetest and breaker/storetest. It
// runs their cases, opens handles, checks contexts and goroutines, and tests the suites themselves.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"
)

const (
	// Patience is how long a case waits for something that must happen. Only a store that fails
	// uses it up.
	Patience = 30 * time.Second
	// Tick is the time between two looks at something that a case waits for.
	Tick = 5 * time.Millisecond
)

// T is the part of *testing.T that cases use. Tests of a suite use a [Recorder] instead.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// Suite is a list of cases for stores of type S. A case gets its fixture, of type F, from New.
type Suite[S, F any] struct {
	Groups []Group[F]
	New    func(t T, open func() func() S) F
}

// Group is a named list of cases.
type Group[F any] struct {
	Name  string
	Cases []Case[F]
}

// Case tests one rule. Its name is the rule.
type Case[F any] = struct {
	Name string
	Run  func(F)
}

// Run runs every case as a subtest "group/case". Open opens storage and returns a func that opens
// handles on that storage.
func (s Suite[S, F]) Run(t *testing.T, open func(*testing.T) func() S) {
	t.Helper()
	for _, g := range s.Groups {
		t.Run(g.Name, func(t *testing.T) {
			for _, c := range g.Cases {
				t.Run(c.Name, func(t *testing.T) {
					c.Run(s.New(t, func() func() S { return open(t) }))
				})
			}
		})
	}
}

// Fixture is what the fixtures of both suites have in common. It opens handles and closes them when
// the case ends.
type Fixture[S io.Closer] struct {
	T
	Store S // the first handle
	open  func() S
}

// NewFixture returns a fixture for storage whose handles open returns.
func NewFixture[S io.Closer](t T, open func() S) Fixture[S] {
	if open == nil {
		t.Fatalf("the func passed to Run returned nil: want a func that opens handles")
	}
	f := Fixture[S]{T: t, open: open}
	f.Store = f.Handle()
	return f
}

// Handle opens one more handle.
func (f *Fixture[S]) Handle() S {
	s := f.open()
	if any(s) == nil {
		f.Fatalf("opening a handle: got a nil Store, want a Store")
	}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Errorf("Close: got error %v, want none", err)
		}
	})
	return s
}

// Handles opens n more handles.
func (f *Fixture[S]) Handles(n int) []S {
	all := make([]S, n)
	for i := range all {
		all[i] = f.Handle()
	}
	return all
}

// ruleError is an answer of the store that breaks a rule, not an error that the store returned.
type ruleError string

func (e ruleError) Error() string { return string(e) }

// Breach returns the error of an answer that breaks a rule. Must reports it unchanged.
func Breach(format string, args ...any) error { return ruleError(fmt.Sprintf(format, args...)) }

// Must stops the case if err is not nil. The other arguments name the call that returned err.
func (f *Fixture[S]) Must(err error, format string, args ...any) {
	f.Helper()
	call := fmt.Sprintf(format, args...)
	if rule, ok := errors.AsType[ruleError](err); ok {
		f.Fatalf("%s: %v", call, rule)
	}
	if err != nil {
		f.Fatalf("%s: got error %v, want none", call, err)
	}
}

// Pause waits for a duration, or until the case ends.
func (f *Fixture[S]) Pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-f.Context().Done():
	}
}

// Together runs n workers concurrently. If workers return errors, it stops the case with the first.
func (f *Fixture[S]) Together(n int, work func(i int) error) {
	f.Helper()
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
			f.Fatalf("worker %d of %d concurrent workers: %v", i, n, err)
		}
	}
}
