// Service is a small shop that has all that a service needs of Spillway, as a start to copy from:
//
//   - it serves HTTP, and sheds requests by priority (shop.go),
//   - it calls one backend over HTTP and one over gRPC, each with a throttle and retries (backends.go),
//   - on a second, private port it has metrics, the status page and settings (observe.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle"
)

const usage = `Service is a small shop with throttles, metrics, the status page and settings from a file.

usage: go run ./examples/service [-listen ADDRESS] [-internal ADDRESS] [-settings FILE]

  -listen ADDRESS    of the shop: /products and /checkout (default 127.0.0.1:8080)
  -internal ADDRESS  of /metrics and /debug/throttle (default 127.0.0.1:9464)
  -settings FILE     JSON that changes throttles while the program runs (default none)
`

// config are the flags.
type config struct{ listen, internal, settings string }

func main() {
	os.Exit(command(program.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

// command runs the program and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := config{listen: "127.0.0.1:8080", internal: "127.0.0.1:9464"}
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.Func("listen", "", program.Address(&c.listen, c.listen))
	flags.Func("internal", "", program.Address(&c.internal, c.internal))
	flags.StringVar(&c.settings, "settings", "", "")
	if err := program.Parse(flags, args); err != nil {
		return program.Explain(stdout, stderr, "service", usage, err)
	}
	return program.Conclude(stderr, "service", run(ctx, c, func(shop, internal string) {
		fmt.Fprintf(stdout, "shop      http://%s/products\nthrottles http://%s/debug/throttle\nmetrics   http://%[2]s/metrics\n", shop, internal)
	}))
}

// run serves until the context ends. It calls ready with the addresses of both servers.
func run(ctx context.Context, c config, ready func(shop, internal string)) error {
	o, err := observe() // first: it sets the hooks of all throttles that are made later
	if err != nil {
		return err
	}
	defer o.close()
	stock, payments, err := startBackends(ctx) // yours are other programs
	if err != nil {
		return err
	}
	b, err := dial(stock, payments)
	if err != nil {
		return err
	}
	defer b.close()
	th, err := throttle.New(throttle.Config{Name: "shop"})
	if err != nil {
		return err
	}
	defer th.Close()
	if c.settings != "" {
		if err := o.control.Watch(ctx, c.settings); err != nil { // after the throttles: a name without one is an error
			return err
		}
	}
	shop, err := serve(ctx, c.listen, shopHandler(th, b))
	if err != nil {
		return err
	}
	internal, err := serve(ctx, c.internal, o.mux)
	if err != nil {
		return err
	}
	ready(shop, internal)
	<-ctx.Done()
	return nil
}

// serve serves until the context ends, and returns the address.
func serve(ctx context.Context, address string, handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the server ended", "address", address, "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return listener.Addr().String(), nil
}
