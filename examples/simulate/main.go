// Simulate plays overload scenarios on virtual time, with different throttles between the clients and the backend, so that
// anyone can see which to choose when. It prints a table, CSV or JSON, and draws what happened second by second. The same flags
// always give the same output, as far as the policies' own dice can be seeded. -h tells the flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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
