// Package program is what the commands of the examples have in common: their flags, how they are interrupted, and how they end.
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

// What a command ends with.
const (
	Done    = 0
	Failed  = 1
	Misused = 2
)

// Interruptible returns a context that ends with Ctrl-C, or when the program is asked to end otherwise. The next time it ends
// at once.
func Interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Explain says why a command does not run: it has told what its flags are, as it was asked to, or they make no sense. It returns
// what the command ends with.
func Explain(stdout, stderr io.Writer, name, usage string, why error) int {
	if errors.Is(why, flag.ErrHelp) {
		if _, err := io.WriteString(stdout, usage); err != nil {
			return Failed
		}
		return Done
	}
	fmt.Fprintf(stderr, "%s: %v\n%s -h tells all flags\n", name, why, name)
	return Misused
}

// Conclude returns what a command ends with whose story is over, and complains if it could not be told.
func Conclude(stderr io.Writer, name string, kept bool, err error) int {
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return Failed
	}
	if !kept {
		return Failed
	}
	return Done
}
