// Package program has what the commands of the examples share: flags, Ctrl-C, tickers and exit codes.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes of a command.
const (
	Done    = 0 // also after Ctrl-C
	Failed  = 1 // the command could not run
	Misused = 2 // a flag is wrong
)

// Interruptible returns a context that ends with Ctrl-C or SIGTERM. A second signal ends the
// program at once.
func Interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Explain prints the usage if err is flag.ErrHelp, and else err. It returns the exit code.
func Explain(stdout, stderr io.Writer, name, usage string, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		if _, err := io.WriteString(stdout, usage); err != nil {
			return Failed
		}
		return Done
	}
	fmt.Fprintf(stderr, "%s: %v\nRun %s -h for the flags.\n", name, err, name)
	return Misused
}

// Conclude prints the error of a command, and returns the exit code. It does not print nil and
// context.Canceled, which is the error after Ctrl-C.
func Conclude(stderr io.Writer, name string, err error) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return Done
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return Failed
}
