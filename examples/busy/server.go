package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// serverCommand is the first argument of a process that is a server.
const serverCommand = "server"

// maxConnections is how many connections a server has open at the same time, as a limit of open files
// would have it. Without it the backlog of a server that is overloaded for long would fill the memory.
const maxConnections = 2048

// serve is a server process: it prints its address, and serves until its standard input ends. So it
// does not outlive its parent.
func serve(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet(serverCommand, flag.ContinueOnError)
	protected := flags.Bool("protected", false, "")
	rounds := flags.Int("rounds", 1, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	signal.Ignore(os.Interrupt) // Ctrl-C is for the parent
	runtime.GOMAXPROCS(1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := newServer(newHandler(*protected, *rounds))
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(stdout, listener.Addr())
	return server.Serve(listener)
}

func newServer(handler http.Handler) *http.Server {
	open := make(chan struct{}, maxConnections)
	return &http.Server{
		Handler:  handler,
		ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // Serve accepts the next connection after this call
				open <- struct{}{}
			case http.StateClosed:
				<-open
			}
		},
	}
}

// newHandler returns the handler of a server. The only difference between the two servers is here.
func newHandler(protected bool, rounds int) http.Handler {
	b := &burner{rounds: rounds}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.burn()
		_, _ = io.WriteString(w, "done\n") // fails if the client has disconnected
	})
	if protected {
		t := throttle.Must(throttle.New(throttle.Config{Name: "busy"}))
		handler = httpthrottle.Middleware(t, httpthrottle.MiddlewareConfig{Priority: priorityOf})(handler)
	}
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET "+statePath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(throttle.Processor()) // fails if the client has disconnected
	})
	return mux
}

// statePath is where the parent reads throttle.Processor of a server. It is outside the middleware.
const statePath = "/debug/processor"

func priorityOf(r *http.Request) throttle.Priority {
	for _, k := range kinds() {
		if k.path == r.URL.Path {
			return k.priority
		}
	}
	return throttle.Low
}

// burner uses processor time, with a loop that neither blocks nor allocates.
type burner struct {
	rounds int           // of the loop, for each call
	sink   atomic.Uint64 // keeps the compiler from removing the loop
}

func (b *burner) burn() {
	x := uint64(b.rounds) | 1
	for range b.rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	b.sink.Store(x)
}

// calibrate returns how many rounds of the loop take d. It keeps the quickest of several tries, which
// is one that no other program has interrupted.
func calibrate(d time.Duration) int {
	trial := burner{rounds: 1_000_000}
	quickest := time.Duration(1 << 62)
	for range 20 {
		begin := time.Now()
		trial.burn()
		quickest = min(quickest, time.Since(begin))
	}
	return max(1, int(float64(trial.rounds)*d.Seconds()/max(quickest, 1).Seconds()))
}
