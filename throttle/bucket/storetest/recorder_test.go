package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/throttle/bucket"
)

// recorder is a reporter that notes what a case says.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Context() context.Context { return r.ctx }

// record runs a case inside a bubble, where waiting takes no time, and returns what it said.
func record(t *testing.T, c testCase, open func(*recorder) func() bucket.Store) *recorder {
	t.Helper()
	r := &recorder{}
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		r.ctx = ctx
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.run(newRig(r, open(r)))
		}()
		<-done
		cancel()
		for _, cleanup := range slices.Backward(r.cleanups) {
			cleanup()
		}
	})
	return r
}

// caseNamed finds a case by "group/case".
func caseNamed(t *testing.T, name string) testCase {
	t.Helper()
	for _, g := range groups() {
		for _, c := range g.cases {
			if g.name+"/"+c.name == name {
				return c
			}
		}
	}
	t.Fatalf("there is no case %q", name)
	return testCase{}
}
