package backends

import (
	"net/http"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/spillway-go/spillway/throttle"
)

// overload is the load in multiples of the capacity.
const overload = 3

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
	backend := serve(t, asSlowBackend, readyPath)
	edge := serve(t, asSlowService, readyPath, backend.URL(""), slow.String())
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
