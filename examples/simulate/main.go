// Simulate plays overload scenarios on virtual time, with different throttles between the clients and the backend, so that
// anyone can see which to choose when. It prints a table, CSV or JSON, and draws what happened second by second. The same flags
// always give the same output, as far as the policies' own dice can be seeded. -h tells the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
	"testing/synctest"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/proc"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// What the command ends with.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	s, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(told(io.WriteString(os.Stdout, usage())))
	case err != nil:
		fmt.Fprintf(os.Stderr, "simulate: %v\nsimulate -h tells all flags, simulate -list all scenarios and policies\n", err)
		os.Exit(exitUsage)
	case s.list:
		os.Exit(told(io.WriteString(os.Stdout, list())))
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

// told returns how the command ends after it has written something.
func told(_ int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		return exitFailed
	}
	return exitDone
}

// interruptible returns a context that ends with Ctrl-C, or when the program is asked to end otherwise. The next time it ends
// at once.
//
// One of the peers, go-zero, listens for signals from the moment it is imported: it would log to the standard output, into the
// middle of our CSV, and kill the program after some seconds. So it is made silent and patient here.
func interruptible() context.Context {
	logx.Disable()
	proc.SetTimeToForceQuit(math.MaxInt64)
	return program.Interruptible()
}

// inBubbles calls f with a function that runs another one in a bubble of testing/synctest. f must end the program.
//
// Some libraries read package time and cannot be given another clock. In a bubble their time is virtual all the same, but only a
// *testing.T can blow one. So the program becomes a test binary with a single test that never returns: nothing of package
// testing's own output comes to pass.
func inBubbles(f func(bubble func(f func()))) {
	os.Args = os.Args[:1] // package testing parses what it finds there
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "simulate", F: func(t *testing.T) {
		f(func(g func()) {
			t.Run("", func(t *testing.T) { // may be called from several goroutines at once
				synctest.Test(t, func(*testing.T) { g() })
			})
		})
	}}}, nil, nil)
	fmt.Fprintln(os.Stderr, "simulate: the runs have ended without a result")
	os.Exit(exitFailed)
}
