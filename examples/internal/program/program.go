// Package program has what the commands of the examples share: flags, Ctrl-C, tickers and exit codes.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
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

// Every calls f after each period, with the time since the start. It returns nil after total, or
// when ctx ends. If total is 0, it does not end by itself. If f returns an error, Every returns it.
func Every(ctx context.Context, period, total time.Duration, f func(elapsed time.Duration) error) error {
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for elapsed := period; total == 0 || elapsed < total+period; elapsed += period {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return nil
		}
		if err := f(elapsed); err != nil {
			return err
		}
	}
	return nil
}

// Sleep waits for d and returns nil, or the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Browse opens a URL in the user's browser.
func Browse(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // this may be the browser itself, which runs for a long time
	return nil
}
