package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// How long the end may take: for answers that are under way, and for spans that nobody may be there to take.
const (
	graceOfAnswers = time.Second
	graceOfSpans   = 3 * time.Second
)

// command is the program with everything around it.
type command struct {
	settings       settings
	stdout, stderr io.Writer
	getenv         func(string) string
	browse         func(url string) error
}

// run serves the page and lets things happen until ctx ends or the time is over, or asks another process that does, and returns the
// exit code.
func (c command) run(ctx context.Context) int {
	work := c.serve
	if c.settings.healthcheck {
		work = newHealthcheck(c.settings.listen).ask
	}
	if err := work(ctx); err != nil {
		fmt.Fprintln(c.stderr, "storefront:", err)
		return exitFailed
	}
	return exitDone
}

func (c command) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", c.settings.listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w: choose another address with -listen, or 127.0.0.1:0 for any free port", c.settings.listen, err)
	}
	c.stdout = &terminal{out: c.stdout} // the report and the alerts write to it
	f, err := newStorefront(ctx, c.settings, c.stdout, c.getenv)
	if err != nil {
		_ = listener.Close() // nobody has come yet
		return err
	}
	server := newServer(f.handler(c.settings.listen))
	server.RegisterOnShutdown(f.endViews)
	ctx, stop := c.timed(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- server.Serve(listener)
	}()
	c.welcome(address(listener.Addr()))
	r := newReport(c.stdout, c.settings)
	f.run(ctx, r)
	r.summarize(f.shop.Settings())
	return errors.Join(c.end(server, f), ignoreClosed(<-served), r.err)
}

// timed returns a context that ends when the time is over.
func (c command) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.settings.duration > 0 {
		return context.WithTimeout(ctx, c.settings.duration)
	}
	return context.WithCancel(ctx)
}

// welcome tells where everything is.
func (c command) welcome(url string) {
	fmt.Fprintf(c.stdout, "Storefront is open: %s/\n  throttles %s/debug/throttle   metrics %s/metrics   Ctrl-C ends it\n\n", url, url, url)
	if !c.settings.open {
		return
	}
	if err := c.browse(url + "/"); err != nil {
		fmt.Fprintf(c.stderr, "storefront: -open: no browser can be opened: %v\n", err)
	}
}

// end ends the server, and then what it shows. Traces that nobody takes are no reason to fail.
func (c command) end(server *http.Server, f *storefront) error {
	answers, cancel := context.WithTimeout(context.Background(), graceOfAnswers)
	defer cancel()
	err := server.Shutdown(answers)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // somebody does not let go, or has opened a connection and not used it, as browsers do
	}
	spans, cancel := context.WithTimeout(context.Background(), graceOfSpans)
	defer cancel()
	if err := f.close(spans); err != nil {
		fmt.Fprintln(c.stderr, "storefront: telemetry:", err)
	}
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// address returns the URL under which a browser on this machine finds the listener.
func address(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://localhost:%d", tcp.Port)
	}
	return "http://" + a.String()
}
