package backends

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

const (
	// timePerOpen is the time of a call, for each call that the backend has open. So it serves
	// capacity calls per second, and half of that if contended calls are open.
	timePerOpen = 10 * time.Millisecond
	capacity    = int(time.Second / timePerOpen)
	contended   = 100
	deadline    = time.Second // of a call to the backend
	overload    = 3           // the load in multiples of the capacity
	readyPath   = "/ready"
)

// TestMain runs the tests, or a program: a slow backend, or a service that asks it.
func TestMain(m *testing.M) {
	program.Main(m, 6, map[string]func([]string) error{"slow backend": runSlowBackend, "slow service": runSlowService})
}

// runSlowBackend serves until it is interrupted. It takes longer, the more calls it has open, and also
// serves callers that have given up.
func runSlowBackend(args []string) error {
	var open atomic.Int64
	return serve(args[0], func(w http.ResponseWriter, _ *http.Request) {
		n := time.Duration(open.Add(1))
		time.Sleep(timePerOpen * n * (contended + n) / contended)
		open.Add(-1)
		fmt.Fprintln(w, "served")
	})
}

// runSlowService asks the backend until it is interrupted. The path of a request is its priority. The arguments are the address, the
// URL of the backend, and throttle.Config.Slow.
func runSlowService(args []string) error {
	slow := throttle.Must(time.ParseDuration(args[2]))
	client := &http.Client{Transport: throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backend", Slow: slow},
	}))}
	return serve(args[0], func(w http.ResponseWriter, r *http.Request) {
		p := throttle.Must(throttle.ParsePriority(strings.TrimPrefix(r.URL.Path, "/")))
		ctx, cancel := context.WithTimeout(throttle.WithPriority(r.Context(), p), deadline)
		defer cancel()
		response, err := client.Do(throttle.Must(http.NewRequestWithContext(ctx, http.MethodGet, args[1], nil)))
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
	})
}

// serve serves HTTP at an address until the process is interrupted.
func serve(address string, handler http.HandlerFunc) error {
	program.ExitWhenInterrupted()
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc(readyPath, func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// TestSlowProtectsHigh sends three times as many requests as a backend can serve that only becomes
// slow. Calls of the highest priority must succeed within their deadline with Slow, and do not without.
func TestSlowProtectsHigh(t *testing.T) {
	t.Parallel()
	length := 40 * time.Second
	if testing.Short() {
		length = 24 * time.Second
	}
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		if good := play(t, length, 0); good > 0.3 {
			t.Errorf("High succeeded: got %.3f without Slow, want at most 0.3", good)
		}
	})
	t.Run("with", func(t *testing.T) {
		t.Parallel()
		const attempts = 4 // a busy machine makes calls slow too
		good := 0.0
		for n := 0; n < attempts && good < 0.9; n++ {
			good = play(t, length, 150*time.Millisecond)
			t.Logf("High succeeded within %v: %.1f %% with Slow", deadline, 100*good)
		}
		if good < 0.9 {
			t.Errorf("High succeeded: got %.3f with Slow in the last of %d attempts, want at least 0.9", good, attempts)
		}
	})
}

// play returns the share of the calls of High that succeed in the second half of an attack.
func play(t *testing.T, length, slow time.Duration) float64 {
	t.Helper()
	start := func(arguments ...string) *program.Server {
		return program.Serve(t, os.Args[0], readyPath, func(address string) []string {
			return slices.Insert(arguments, 1, address)
		})
	}
	backend := start("slow backend")
	edge := start("slow service", backend.URL(""), slow.String())
	var targets []vegeta.Target
	for p, n := range []int{1, 2, 4, 3} {
		for range n {
			targets = append(targets, vegeta.Target{Method: http.MethodGet, URL: edge.URL("/" + throttle.Priority(p).String())})
		}
	}
	var good, all float64
	began := time.Now()
	rate := vegeta.Rate{Freq: overload * capacity, Per: time.Second}
	for r := range vegeta.NewAttacker(vegeta.Timeout(10*time.Second)).Attack(vegeta.NewStaticTargeter(targets...), rate, length, "slow") {
		if r.Timestamp.Sub(began) < length/2 || !strings.HasSuffix(r.URL, "/high") {
			continue
		}
		if all++; r.Code == http.StatusOK {
			good++
		}
	}
	return good / all
}
