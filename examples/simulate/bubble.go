package main

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
)

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
