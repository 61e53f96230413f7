// Storefront is a shop whose backend is overloaded, in one process. Visitors make calls of four
// priorities. A throttle protects the backend; a second backend gets the same calls without a
// throttle, for comparison. Open the address that the program prints, and change the load. -h lists
// the flags.
package main

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
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	s, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		if _, err := io.WriteString(os.Stdout, usage); err != nil {
			os.Exit(exitFailed)
		}
		os.Exit(exitDone)
	case err != nil:
		fmt.Fprintf(os.Stderr, "storefront: %v\nstorefront -h lists all flags\n", err)
		os.Exit(exitUsage)
	}
	c := command{settings: s, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, browse: browse}
	os.Exit(c.run(interruptible()))
}

// interruptible returns a context that ends with Ctrl-C or SIGTERM. A second signal ends the
// program at once.
func interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// browse opens the address in the user's browser.
func browse(url string) error {
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
