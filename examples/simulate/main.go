// Simulate plays overload scenarios on virtual time, with different throttles in the clients, to
// help choose a policy. It prints a table or CSV, and draws each run second by second. The
// same flags give the same output, except with policies whose random numbers cannot be seeded. -h
// lists the flags.
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"
	"testing/synctest"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/proc"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// exitInterrupted is the exit code after Ctrl-C.
const exitInterrupted = 130

func main() {
	s, err := parse(os.Args[1:])
	switch {
	case err != nil:
		os.Exit(program.Explain(os.Stdout, os.Stderr, "simulate", usage, err))
	case s.list:
		if err := list(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "simulate:", err)
			os.Exit(program.Failed)
		}
		return
	}
	ctx := interruptible()
	c := command{settings: s, stdout: os.Stdout, stderr: os.Stderr, progress: newProgress(os.Stderr, s)}
	if s.realClock() {
		inBubbles(func(bubble func(f func())) {
			c.settings.options.Bubble = bubble
			os.Exit(c.run(ctx))
		})
	}
	os.Exit(c.run(ctx))
}

// interruptible returns a context that ends with Ctrl-C or SIGTERM. A second signal ends the
// program at once.
//
// The library go-zero, one of the peers, handles signals as soon as it is imported. It logs to the
// standard output, which would break the CSV, and ends the program after some seconds.
// interruptible turns off both.
func interruptible() context.Context {
	logx.Disable()
	proc.SetTimeToForceQuit(math.MaxInt64)
	return program.Interruptible()
}

// inBubbles calls f with a function that runs another one in a bubble of testing/synctest. f must
// end the program.
//
// Some libraries read package time and accept no other clock. In a bubble that time is virtual.
// Only a *testing.T can start a bubble, so the program runs a single test. The test does not
// return, so that package testing prints nothing.
func inBubbles(f func(bubble func(f func()))) {
	os.Args = os.Args[:1] // package testing parses the arguments
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "simulate", F: func(t *testing.T) {
		f(func(g func()) {
			t.Run("", func(t *testing.T) { // may be called from several goroutines at once
				synctest.Test(t, func(*testing.T) { g() })
			})
		})
	}}}, nil, nil)
	fmt.Fprintln(os.Stderr, "simulate: package testing ended before the runs: no results")
	os.Exit(program.Failed)
}
