package backends

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

const (
	readyPath = "/ready"
	// timePerOpen is the time of a call, for each call that the backend has open. So it serves
	// capacity calls per second, and half of that if contended calls are open.
	timePerOpen = 10 * time.Millisecond
	capacity    = int(time.Second / timePerOpen)
	contended   = 100
	deadline    = time.Second // of a call to the backend
)

// runSlowBackend serves until it is interrupted. It takes longer, the more calls it has open, and also
// serves callers that have given up.
func runSlowBackend(args []string) error {
	var open atomic.Int64
	return serveSlow(args[0], func(w http.ResponseWriter, _ *http.Request) {
		n := time.Duration(open.Add(1))
		time.Sleep(timePerOpen * n * (contended + n) / contended)
		open.Add(-1)
		fmt.Fprintln(w, "served")
	})
}

func serveSlow(address string, handler http.HandlerFunc) error {
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc(readyPath, func(http.ResponseWriter, *http.Request) {})
	return listen(address, mux)
}

// runSlowService asks the backend until it is interrupted. The path of a request is its priority. The arguments are the address, the
// URL of the backend, and throttle.Config.Slow.
func runSlowService(args []string) error {
	slow, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "backend", Slow: slow},
	})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	return serveSlow(args[0], func(w http.ResponseWriter, r *http.Request) {
		p, err := throttle.ParsePriority(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(throttle.WithPriority(r.Context(), p), deadline)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, args[1], nil)
		if err != nil {
			panic(err)
		}
		response, err := client.Do(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
	})
}
