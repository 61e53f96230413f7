// Storefront is a shop whose backend is overloaded, in one process. Visitors make calls of four
// priorities. A throttle protects the backend; a second backend gets the same calls without a
// throttle, for comparison. Open the address that the program prints, and change the load. -h lists
// the flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/internal/page"
	"github.com/spillway-go/spillway/examples/internal/program"
)

func main() {
	s, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(program.Explain(os.Stdout, os.Stderr, "storefront", usage, err))
	}
	c := command{settings: s, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, browse: program.Browse}
	os.Exit(c.run(program.Interruptible()))
}

// flushTimeout is the longest time that the end of the program takes if no collector accepts the spans.
const flushTimeout = 3 * time.Second

// command is the program and its environment. Tests replace the environment.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	getenv         func(string) string
	browse         func(url string) error
}

// run serves the page until ctx or the duration ends, and returns the exit code. With -healthcheck
// it checks a storefront that runs in another process.
func (c command) run(ctx context.Context) int {
	work := c.serve
	if c.settings.healthcheck {
		work = func(ctx context.Context) error { // without the proxy of the environment
			return checkHealth(ctx, c.settings.listen, &http.Transport{DisableKeepAlives: true})
		}
	}
	return program.Conclude(c.stderr, "storefront", work(ctx))
}

func (c command) serve(ctx context.Context) error {
	server, err := page.Listen(c.settings.listen, "-listen")
	if err != nil {
		return err
	}
	f, err := newStorefront(ctx, c.settings, c.stdout, c.getenv)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	ctx, stop := c.withDuration(ctx)
	defer stop()
	server.Serve(f.handler(c.settings.listen), f.closeStreams, stop)
	c.printAddresses(server.URL)
	r := newReport(c.stdout, c.settings)
	f.run(ctx, r)
	r.summarize(f.shop.Settings())
	return errors.Join(c.shutdown(server, f), r.err)
}

// withDuration returns a context that ends after the duration of the settings, if there is one.
func (c command) withDuration(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.settings.duration > 0 {
		return context.WithTimeout(ctx, c.settings.duration)
	}
	return context.WithCancel(ctx)
}

func (c command) printAddresses(url string) {
	fmt.Fprintf(c.stdout, "Storefront is open: %s/\n  throttles %s/debug/throttle   metrics %s/metrics   Ctrl-C ends it\n\n", url, url, url)
	if !c.settings.open {
		return
	}
	if err := c.browse(url + "/"); err != nil {
		fmt.Fprintf(c.stderr, "storefront: -open: cannot open a browser: %v: open %s/ yourself\n", err, url)
	}
}

// shutdown stops the server, and then the storefront. If the spans cannot be sent, it prints the
// error and does not return it.
func (c command) shutdown(server *page.Server, f *storefront) error {
	err := server.Close()
	flush, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := f.close(flush); err != nil {
		fmt.Fprintln(c.stderr, "storefront: telemetry: the last spans or metrics were not sent:", err)
	}
	return err
}
