package backends

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// The load. Few requests are for the healthy route, so that the others could dominate the throttle
// around both.
const (
	hopRate        = 300 // per second
	remotePerLocal = 5
)

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
			backend := serve(t, asHop, countsPath, "")
			middle := serve(t, asHop, countsPath, backend.URL(""), policy.String())
			edge := serve(t, asHop, countsPath, middle.URL(""), policy.String())
			seen := attack(t, edge, length)

			atEdge, atMiddle, atBackend := countsOf(t, edge), countsOf(t, middle), countsOf(t, backend)
			if ok, all := seen[localPath][http.StatusOK], sum(seen[localPath]); ok*100 < all*99 {
				t.Errorf("healthy route: %d of %d requests got 200, want 99 %%: %v", ok, all, seen[localPath])
			}
			if n := seen[remotePath][http.StatusServiceUnavailable]; n != sum(seen[remotePath]) {
				t.Errorf("route of the dead backend: got statuses %v, want 503 only", seen[remotePath])
			}
			equal(t, "requests at the edge and at the source", atEdge.Server.Admitted+atEdge.Server.Shed, sum(seen[localPath])+sum(seen[remotePath]))
			equal(t, "accepted at the edge, and 200 at the source", atEdge.Server.Accepted, seen[localPath][http.StatusOK])
			for name, hop := range map[string]struct {
				service  counts
				received uint64 // by the next service
			}{
				"edge":   {atEdge, atMiddle.Server.Admitted + atMiddle.Server.Shed},
				"middle": {atMiddle, atBackend.Requests},
			} {
				equal(t, name+": sent by the transport, and received", hop.service.Transport.Admitted, hop.received)
				for which, c := range map[string]totals{"server": hop.service.Server, "transport": hop.service.Transport} {
					equal(t, name+", "+which+": in flight", c.InFlight, 0)
					equal(t, name+", "+which+": ended", c.Accepted+c.Rejected+c.Ignored, c.Admitted)
				}
			}
			equal(t, "edge: asked its transport, and ended with its answer", atEdge.Transport.Admitted+atEdge.Transport.Shed, atEdge.Server.Rejected+atEdge.Server.Ignored)
			equal(t, "transport of the middle: rejected", atMiddle.Transport.Rejected, atBackend.Requests)
			if atMiddle.Transport.Shed == 0 {
				t.Error("the service in the middle shed no call to the dead backend")
			}
			t.Logf("source %v, edge %+v, middle %+v, backend %d", seen, atEdge, atMiddle, atBackend.Requests)
		})
	}
}

// attack sends requests to both routes, and returns how many got each status, by path.
func attack(t *testing.T, edge *program.Server, length time.Duration) map[string]map[int]uint64 {
	t.Helper()
	seen := map[string]map[int]uint64{localPath: {}, remotePath: {}}
	targets := []vegeta.Target{{Method: http.MethodGet, URL: edge.URL(localPath)}}
	for range remotePerLocal {
		targets = append(targets, vegeta.Target{Method: http.MethodGet, URL: edge.URL(remotePath)})
	}
	for r := range vegeta.NewAttacker().Attack(vegeta.NewStaticTargeter(targets...), vegeta.Rate{Freq: hopRate, Per: time.Second}, length, "hops") {
		if r.Code == 0 {
			t.Errorf("a request got no answer: %s", r.Error)
		}
		seen["/"+r.URL[strings.LastIndex(r.URL, "/")+1:]][int(r.Code)]++
	}
	return seen
}

func countsOf(t *testing.T, s *program.Server) (c counts) {
	t.Helper()
	response, err := http.Get(s.URL(countsPath))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func sum(statuses map[int]uint64) (n uint64) {
	for _, count := range statuses {
		n += count
	}
	return n
}
