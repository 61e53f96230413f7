// Busy overloads two servers with the same requests. Each is a process of its own, whose handler uses
// processor time. One has Spillway in front of the handler, with nothing set; the other has nothing.
// Open the address that the program prints, and change the load. -h lists the flags.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/internal/program"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == serverCommand {
		os.Exit(program.Conclude(os.Stderr, "busy server", serve(os.Args[2:], os.Stdin, os.Stdout)))
	}
	os.Exit(command(program.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args)
	if err != nil {
		return program.Explain(stdout, stderr, "busy", usage, err)
	}
	return program.Conclude(stderr, "busy", run(ctx, s, stdout, stderr))
}

// run measures the capacity of the servers, and sends them requests until ctx or the run ends.
func run(ctx context.Context, s settings, stdout, stderr io.Writer) error {
	server, err := page.Listen(s.address, "-addr")
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	protected, bare, err := startBoth(s, stderr, stop)
	if err != nil {
		return err
	}
	defer protected.stop()
	defer bare.stop()
	fmt.Fprintln(stdout, "Two servers have started. For a second they are as busy as they can be, to measure their capacity.")
	b := newBusy(s, saturateBoth(ctx, protected.url, bare.url), protected.url, bare.url)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	server.Serve(b.handler(s.address), b.stream.Close, func() {})
	fmt.Fprintf(stdout, "A server answers %.0f requests per second at most. Watch them: %s/\nCtrl-C ends it.\n", b.load.capacity, server.URL)
	if s.open {
		if err := program.Browse(server.URL + "/"); err != nil {
			fmt.Fprintf(stderr, "busy: -open: cannot open a browser: %v: open %s/ yourself\n", err, server.URL)
		}
	}
	err = b.run(ctx, stdout)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

const usage = `Busy overloads two servers with the same requests. One protects itself with Spillway.

usage: go run ./examples/busy [flags]

  -addr host:port  address of the page (default 127.0.0.1:8080); port 0 takes a free one
  -open            open the page in the browser
  -handler d       processor time that a request uses, from 1ms to 50ms (default 5ms)
  -load x          requests to each server, as a multiple of what it can answer, from 0 to 10
                   (default 3); the page can change it
  -seconds n       how long to run, from 1 to 86400 (default 0: until Ctrl-C)

The program prints a line per second. The exit code is 0, 1 if the command could not run, 2 for a
wrong flag.

Examples:
  # Open the page
  go run ./examples/busy -open

  # Twenty seconds in the terminal, at ten times what the servers can answer
  go run ./examples/busy -load 10 -seconds 20
`

// maxLoad is the highest load, as a multiple of the capacity.
const maxLoad = 10

// settings are the values of the flags.
type settings struct {
	address string
	open    bool
	handler time.Duration // processor time of a request
	load    float64
	seconds int // 0 is until Ctrl-C
}

// parse returns the settings of the arguments. Its error is flag.ErrHelp for -h.
func parse(args []string) (settings, error) {
	s := settings{address: "127.0.0.1:8080", handler: 5 * time.Millisecond, load: 3}
	flags := flag.NewFlagSet("busy", flag.ContinueOnError)
	flags.Func("addr", "", program.Address(&s.address, "127.0.0.1:8080"))
	flags.BoolVar(&s.open, "open", false, "")
	flags.Func("handler", "", s.setHandler)
	flags.Func("load", "", program.Number(&s.load, 0, maxLoad, "times the capacity"))
	flags.Func("seconds", "", program.Whole(&s.seconds, 0, 86400, "seconds"))
	return s, program.Parse(flags, args)
}

func (s *settings) setHandler(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > 50*time.Millisecond {
		return fmt.Errorf("want a duration such as 5ms, from 1ms to 50ms")
	}
	s.handler = d
	return nil
}
