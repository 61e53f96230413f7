package backends

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// The load. Few requests are for the healthy route, so that the others could dominate the throttle
// around both.
const (
	hopRate        = 300 // per second
	remotePerLocal = 5

	localPath  = "/local"  // needs no other service
	remotePath = "/remote" // asks the next service
)

// hop is a service with one throttle around its routes, and one for the next service.
type hop struct {
	url       string
	server    *throttle.Throttle
	transport *httpthrottle.Transport
}

func newHop(t *testing.T, policy throttle.Policy, next string) *hop {
	t.Helper()
	h := &hop{
		server: throttle.Must(throttle.New(throttle.Config{Name: "server", Policy: policy, ProcessorWait: -1})), // which the test shares
		transport: throttle.Must(httpthrottle.NewTransport(nil, httpthrottle.TransportConfig{
			Throttle: throttle.Config{Name: "next", Policy: policy},
		})),
	}
	client := &http.Client{Transport: h.transport, Timeout: 10 * time.Second}
	routes := http.NewServeMux()
	routes.HandleFunc(localPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	routes.HandleFunc(remotePath, func(w http.ResponseWriter, r *http.Request) {
		response, err := client.Do(throttle.Must(http.NewRequestWithContext(r.Context(), http.MethodGet, next+remotePath, http.NoBody)))
		if err != nil {
			if !httpthrottle.WriteError(w, r, err) {
				http.Error(w, "bad gateway", http.StatusBadGateway)
			}
			return
		}
		defer response.Body.Close()
		_ = httpthrottle.Forward(w, response)
	})
	server := httptest.NewServer(httpthrottle.Middleware(h.server, httpthrottle.MiddlewareConfig{})(routes))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// totals are those of a throttle, over all priorities.
type totals struct {
	Admitted, InFlight, Accepted, Rejected, Ignored, Shed uint64
}

func totalsOf(th *throttle.Throttle) (sum totals) {
	for _, p := range th.Stats().Priorities {
		sum.Admitted += p.Admitted
		sum.InFlight += uint64(p.InFlight)
		sum.Accepted += p.Ended.Outcome(throttle.Accepted)
		sum.Rejected += p.Ended.Outcome(throttle.Rejected)
		sum.Ignored += p.Ended.Outcome(throttle.Ignored)
		sum.Shed += p.Shed.Sum()
	}
	return sum
}

// sent returns the totals of the throttle for the next service, the only one of the transport.
func (h *hop) sent() (sum totals) {
	for _, th := range h.transport.Group().All() {
		sum = totalsOf(th)
	}
	return sum
}

// TestHealthyRouteBesideADeadBackend sends requests to an edge service. One of its routes needs no
// other service. The other one needs a service whose backend is down. The healthy route must answer,
// and every request must be counted once at every hop.
func TestHealthyRouteBesideADeadBackend(t *testing.T) {
	t.Parallel()
	for _, policy := range []throttle.Policy{throttle.SRE, throttle.Tiered} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			length := 30 * time.Second
			if testing.Short() {
				length = 12 * time.Second
			}
			var requests atomic.Uint64
			dead := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				http.Error(w, "down", http.StatusServiceUnavailable)
			}))
			t.Cleanup(dead.Close)
			middle := newHop(t, policy, dead.URL)
			edge := newHop(t, policy, middle.url)
			seen := attack(t, edge, length)

			edgeServer, edgeTransport := totalsOf(edge.server), edge.sent()
			middleServer, middleTransport := totalsOf(middle.server), middle.sent()
			if ok, all := seen[localPath][http.StatusOK], sum(seen[localPath]); ok*100 < all*99 {
				t.Errorf("healthy route: %d of %d requests got 200, want 99 %%: %v", ok, all, seen[localPath])
			}
			if n := seen[remotePath][http.StatusServiceUnavailable]; n != sum(seen[remotePath]) {
				t.Errorf("route of the dead backend: got statuses %v, want 503 only", seen[remotePath])
			}
			equal(t, "requests at the edge and at the source", edgeServer.Admitted+edgeServer.Shed, sum(seen[localPath])+sum(seen[remotePath]))
			equal(t, "accepted at the edge, and 200 at the source", edgeServer.Accepted, seen[localPath][http.StatusOK])
			equal(t, "sent by the edge, and received", edgeTransport.Admitted, middleServer.Admitted+middleServer.Shed)
			equal(t, "sent by the middle, and received", middleTransport.Admitted, requests.Load())
			for which, c := range map[string]totals{
				"edge, server": edgeServer, "edge, transport": edgeTransport,
				"middle, server": middleServer, "middle, transport": middleTransport,
			} {
				equal(t, which+": in flight", c.InFlight, 0)
				equal(t, which+": ended", c.Accepted+c.Rejected+c.Ignored, c.Admitted)
			}
			equal(t, "edge: asked its transport, and ended with its answer", edgeTransport.Admitted+edgeTransport.Shed, edgeServer.Rejected+edgeServer.Ignored)
			equal(t, "transport of the middle: rejected", middleTransport.Rejected, requests.Load())
			if middleTransport.Shed == 0 {
				t.Error("the service in the middle shed no call to the dead backend")
			}
			t.Logf("source %v, edge %+v %+v, middle %+v %+v", seen, edgeServer, edgeTransport, middleServer, middleTransport)
		})
	}
}

// attack sends requests to both routes, and returns how many got each status, by path.
func attack(t *testing.T, edge *hop, length time.Duration) map[string]map[int]uint64 {
	t.Helper()
	seen := map[string]map[int]uint64{localPath: {}, remotePath: {}}
	targets := []vegeta.Target{{Method: http.MethodGet, URL: edge.url + localPath}}
	for range remotePerLocal {
		targets = append(targets, vegeta.Target{Method: http.MethodGet, URL: edge.url + remotePath})
	}
	for r := range vegeta.NewAttacker().Attack(vegeta.NewStaticTargeter(targets...), vegeta.Rate{Freq: hopRate, Per: time.Second}, length, "hops") {
		if r.Code == 0 {
			t.Errorf("a request got no answer: %s", r.Error)
		}
		seen["/"+r.URL[strings.LastIndex(r.URL, "/")+1:]][int(r.Code)]++
	}
	return seen
}

func sum(statuses map[int]uint64) (n uint64) {
	for _, count := range statuses {
		n += count
	}
	return n
}
