package backends

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The paths of a service.
const (
	localPath  = "/local"  // needs no other service
	remotePath = "/remote" // asks the next service
	countsPath = "/counts" // the counts, outside the throttle
)

// counts are the totals of one service.
type counts struct {
	Requests  uint64 // received by a service without a throttle
	Server    totals // of the throttle around its handlers
	Transport totals // of the throttle for the next service
}

// totals are those of a throttle, over all priorities.
type totals struct {
	Admitted, InFlight, Accepted, Rejected, Ignored, Shed uint64
}

func totalsOf(t *throttle.Throttle) (sum totals) {
	for _, p := range t.Stats().Priorities {
		sum.Admitted += p.Admitted
		sum.InFlight += uint64(p.InFlight)
		sum.Accepted += p.Ended.Outcome(throttle.Accepted)
		sum.Rejected += p.Ended.Outcome(throttle.Rejected)
		sum.Ignored += p.Ended.Outcome(throttle.Ignored)
		sum.Shed += p.Shed.Sum()
	}
	return sum
}

// runHop serves until it is interrupted. Its arguments are its address, the URL of the next
// service, and the policy. Without a next service it is a backend that is down.
func runHop(args []string) error {
	address, next := args[0], args[1]
	handler := down()
	if next != "" {
		var policy throttle.Policy
		if err := policy.UnmarshalText([]byte(args[2])); err != nil {
			return err
		}
		var err error
		if handler, err = between(next, policy); err != nil {
			return err
		}
	}
	return listen(address, handler)
}

// down returns a backend that answers 503 to every request.
func down() http.Handler {
	var requests atomic.Uint64
	mux := http.NewServeMux()
	mux.HandleFunc(countsPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(counts{Requests: requests.Load()})
	})
	mux.HandleFunc(remotePath, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.Error(w, "down", http.StatusServiceUnavailable)
	})
	return mux
}

// between returns a service with one throttle around its routes, and one for the next service.
func between(next string, policy throttle.Policy) (http.Handler, error) {
	server, err := throttle.New(throttle.Config{Name: "server", Policy: policy})
	if err != nil {
		return nil, err
	}
	transport, err := httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
		Throttle: throttle.Config{Name: "next", Policy: policy},
	})
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	routes := http.NewServeMux()
	routes.HandleFunc(localPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	routes.HandleFunc(remotePath, func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, next+remotePath, nil)
		if err != nil {
			panic(err)
		}
		response, err := client.Do(request)
		if err != nil {
			if !httpthrottle.WriteError(w, r, err) {
				http.Error(w, "bad gateway", http.StatusBadGateway)
			}
			return
		}
		defer response.Body.Close()
		_ = httpthrottle.Forward(w, response)
	})
	mux := http.NewServeMux()
	mux.Handle("/", httpthrottle.Middleware(server, httpthrottle.MiddlewareConfig{})(routes))
	mux.HandleFunc(countsPath, func(w http.ResponseWriter, _ *http.Request) {
		c := counts{Server: totalsOf(server)}
		for _, t := range transport.Group().All() {
			c.Transport = totalsOf(t)
		}
		_ = json.NewEncoder(w).Encode(c)
	})
	return mux, nil
}
