// Soak lets three of our examples run side by side for a long time, built with the race detector and in trouble all the while, and looks at what they
// need. It fails if anything grows that should not, and if the trouble was none. -h tells the flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// What the command ends with.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	s, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		os.Exit(exitDone)
	case err != nil:
		fmt.Fprintf(os.Stderr, "soak: %v\nsoak -h tells all flags\n", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, s))
}

// run soaks, prints what was found, and returns the exit code.
func run(ctx context.Context, s settings) int {
	found, err := soak(ctx, s, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return exitFailed
	}
	fmt.Print(found.table(s.format))
	complaints := found.complaints(judgeAll)
	for _, c := range complaints {
		fmt.Fprintln(os.Stderr, "soak:", c)
	}
	if len(complaints) > 0 {
		return exitFailed
	}
	return exitDone
}
