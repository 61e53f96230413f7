// Service is a small shop with throttles on all sides, as a start to copy from:
//
//   - it serves HTTP, and sheds requests by priority (shop.go),
//   - it calls one backend over HTTP and one over gRPC, each with a throttle and retries (backends.go),
//   - on a second, private port it has metrics, the status page and settings (observe.go).
//
// For overloads to look at, run the storefront.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// drain is how long requests may take to end when the program ends.
const drain = 10 * time.Second

// config are the flags.
type config struct{ listen, internal, settings string }

func main() {
	var c config
	flag.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`address` of /products and /checkout")
	flag.StringVar(&c.internal, "internal", "127.0.0.1:9464", "`address` of /metrics and /debug/throttle")
	flag.StringVar(&c.settings, "settings", "", "JSON `file` that changes throttles while the program runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, c, func(shop, internal string) {
		fmt.Printf("shop      http://%s/products\nthrottles http://%s/debug/throttle\nmetrics   http://%[2]s/metrics\n", shop, internal)
	})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// run serves until the context ends. It calls ready with the addresses of both servers.
func run(ctx context.Context, c config, ready func(shop, internal string)) error {
	o, err := observe() // first: it sets the hooks of all throttles that are made later
	if err != nil {
		return err
	}
	defer o.close()
	stock, payments, stop, err := startBackends() // yours are other programs
	if err != nil {
		return err
	}
	defer stop()
	b, err := dial(stock, payments)
	if err != nil {
		return err
	}
	defer b.close()
	// It sheds while requests wait for a processor, or in a queue inside the handlers, such as that of a full pool:
	// nothing is to be set for that (Config.ProcessorWait, Config.Slow). These handlers only wait for the backends,
	// whose throttles have Slow.
	th, err := throttle.New(throttle.Config{Name: "shop"})
	if err != nil {
		return err
	}
	defer th.Close()
	if c.settings != "" {
		if err := o.control.Watch(ctx, c.settings); err != nil { // after throttles and clients: a wrong name is refused, and logged
			return err
		}
	}
	internal, err := serve(c.internal, o.mux)
	if err != nil {
		return err
	}
	defer internal.Close() // a viewer of the status page would keep it open
	shop, err := serve(c.listen, shopHandler(th, b))
	if err != nil {
		return err
	}
	defer o.flush() // before the throttles are closed
	defer shop.end()
	ready(shop.address, internal.address)
	<-ctx.Done()
	return nil
}

// running is a server that runs.
type running struct {
	*http.Server

	address string
}

// end lets requests end before the program does.
func (r *running) end() { warn(r.Shutdown) }

// serve starts a server.
func serve(address string, handler http.Handler) (*running, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("the server ended", "address", address, "error", err)
		}
	}()
	return &running{server, listener.Addr().String()}, nil
}
