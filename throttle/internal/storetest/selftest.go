package storetest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Opener opens storage whose store may be broken, and returns a func that opens handles on it.
type Opener[S any] func(*Recorder) func() S

// Fault is a store that breaks a rule.
type Fault[S any] = struct {
	Name  string   // what the store does wrong, as in "grants one token too many"
	Found []string // the cases that must fail, as "group/case"
	Open  Opener[S]
}

// TestFaults expects each fault to fail the cases that it names, and each case to find a fault.
// The cases run in a synctest bubble, where waiting takes no time.
func (s Suite[S, F]) TestFaults(t *testing.T, faults []Fault[S]) {
	t.Helper()
	cases := s.cases()
	unused := maps.Clone(cases)
	for _, fault := range faults {
		for _, name := range fault.Found {
			delete(unused, name)
			t.Run(fault.Name+"/"+name, func(t *testing.T) {
				c, ok := cases[name]
				if !ok {
					t.Fatal("there is no such case")
				}
				r := s.record(t, c, fault.Open)
				if len(r.failures) == 0 {
					t.Fatalf("got no failure (skipped: %q): this case must fail for a store that %s", r.skipped, fault.Name)
				}
				t.Logf("failed with: %s", r.failures[0])
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("case %q: no fault is there for it to find", name)
	}
}

// TestPasses expects every case to pass in a bubble.
func (s Suite[S, F]) TestPasses(t *testing.T, open Opener[S]) {
	t.Helper()
	for name, c := range s.cases() {
		t.Run(name, func(t *testing.T) {
			if r := s.record(t, c, open); len(r.failures) > 0 || r.skipped != "" {
				t.Errorf("got failures %q (skipped: %q), want none", r.failures, r.skipped)
			}
		})
	}
}

// cases returns the cases by "group/case".
func (s Suite[S, F]) cases() map[string]Case[F] {
	all := map[string]Case[F]{}
	for _, g := range s.Groups {
		for _, c := range g.Cases {
			all[g.Name+"/"+c.Name] = c
		}
	}
	return all
}

// record runs a case in a bubble and returns what it reported.
func (s Suite[S, F]) record(t *testing.T, c Case[F], open Opener[S]) *Recorder {
	t.Helper()
	r := &Recorder{}
	synctest.Test(t, func(*testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		r.ctx = ctx
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(s.New(r, func() func() S { return open(r) }))
		}()
		<-done
		cancel()
		for _, cleanup := range slices.Backward(r.cleanups) {
			cleanup()
		}
	})
	return r
}

// Recorder is a [T] that records failures. Its context ends with the case, before the cleanups run.
type Recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	failures []string
	skipped  string
	cleanups []func()
}

// Helper does nothing.
func (*Recorder) Helper() {}

// Errorf records a failure.
func (r *Recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// Fatalf records a failure and ends the case.
func (r *Recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// Skipf records that the case was skipped, and ends it.
func (r *Recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Cleanup adds a func that is called after the case.
func (r *Recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// Context returns the context of the case.
func (r *Recorder) Context() context.Context { return r.ctx }

// TestRunFails runs the calling test again in its own process, where it calls run and may fail. Only
// the subtests of run that match filter are run. It expects the output to contain the given texts.
func TestRunFails(t *testing.T, run func(), filter string, want ...string) {
	t.Helper()
	const again = "SPILLWAY_STORETEST_RUN_FAILS"
	if os.Getenv(again) != "" {
		run()
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$/"+filter, "-test.v")
	cmd.Env = append(os.Environ(), again+"=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("a test of a broken store passed, want it to fail")
	}
	for _, text := range want {
		if !strings.Contains(string(out), text) {
			t.Errorf("a test of a broken store: got no %q in its output:\n%s", text, out)
		}
	}
}
