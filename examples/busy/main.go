// Busy overloads two servers with the same requests. Each is a process of its own, whose handler uses
// processor time. One has Spillway in front of the handler, with nothing set; the other has nothing.
// Open the address that the program prints, and change the load. -h lists the flags.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

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
