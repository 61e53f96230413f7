package slow

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/spillway-go/spillway/internal/integration/program"
	"github.com/spillway-go/spillway/throttle"
)

// overload is the load in multiples of the capacity.
const overload = 3

// TestSlowProtectsHigh sends three times as many requests as a backend can serve that only becomes
// slow. Calls of the highest priority must succeed within their deadline with Slow, and do not without.
func TestSlowProtectsHigh(t *testing.T) {
	length := 40 * time.Second
	if testing.Short() {
		length = 24 * time.Second
	}
	without := play(t, length, 0)
	if without > 0.3 {
		t.Errorf("High succeeded: got %.3f without Slow, want at most 0.3", without)
	}
	const attempts = 4 // a busy machine makes calls slow too
	with := 0.0
	for n := 0; n < attempts && with < 0.9; n++ {
		with = play(t, length, 150*time.Millisecond)
		t.Logf("High succeeded within %v: %.1f %% with Slow, %.1f %% without", deadline, 100*with, 100*without)
	}
	if with < 0.9 {
		t.Errorf("High succeeded: got %.3f with Slow in the last of %d attempts, want at least 0.9", with, attempts)
	}
}

// play returns the share of the calls of High that succeed in the second half of an attack.
func play(t *testing.T, length, slow time.Duration) float64 {
	t.Helper()
	backend := serve(t, asBackend)
	edge := serve(t, asService, backend.URL(""), slow.String())
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

// serve starts a server.
func serve(t *testing.T, as string, arguments ...string) *program.Server {
	t.Helper()
	return program.Serve(t, os.Args[0], readyPath, func(address string) []string {
		return append([]string{as, address}, arguments...)
	})
}
