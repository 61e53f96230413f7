package httpthrottle_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const (
	shopCapacity = 100 // visits a second
	timesTooMany = 5
)

// visitors visit a shop. Each visit advances their clock, which is the shop's and the throttle's
// too: the speed of the machine changes nothing.
type visitors struct {
	steps       atomic.Int64
	made, happy [throttle.StandardPriorities]atomic.Int64
}

// now returns the visitors' time.
func (v *visitors) now() time.Time {
	return time.Unix(0, v.steps.Load()*int64(time.Second)/(shopCapacity*timesTooMany))
}

// visit makes one visit: a tenth of them are High, four tenths Low.
func (v *visitors) visit(t *testing.T, client *http.Client, url string, draw int) {
	p := [...]throttle.Priority{0, 1, 1, 2, 2, 2, 3, 3, 3, 3}[draw]
	v.steps.Add(1)
	v.made[p].Add(1)
	r, err := http.NewRequestWithContext(throttle.WithPriority(t.Context(), p), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	response, err := client.Do(r)
	if err != nil {
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode == http.StatusOK {
		v.happy[p].Add(1)
	}
}

// share returns what part of the visits of a priority succeeded.
func (v *visitors) share(p throttle.Priority) float64 {
	return float64(v.happy[p].Load()) / float64(v.made[p].Load())
}

// rush sends visitors to a shop for a number of seconds of their time. The shop has a capacity and
// knows no priorities: it answers 503 to what is beyond its capacity, and such an answer costs
// capacity too.
func (v *visitors) rush(t *testing.T, client *http.Client, seconds int) {
	t.Helper()
	backend, err := throttletest.NewBackend(throttletest.BackendConfig{Capacity: shopCapacity, Now: v.now})
	if err != nil {
		t.Fatal(err)
	}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if backend.Call(r.Context()) != nil {
			http.Error(w, "too much to do", http.StatusServiceUnavailable)
		}
	}))
	defer shop.Close()
	var left atomic.Int64
	left.Store(int64(seconds * shopCapacity * timesTooMany))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			for left.Add(-1) >= 0 {
				v.visit(t, client, shop.URL, dice.IntN(10))
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	t.Logf("at %d times the capacity: High %.0f %%, Important %.0f %%, Medium %.0f %%, Low %.0f %% succeed", timesTooMany,
		100*v.share(throttle.High), 100*v.share(throttle.Important), 100*v.share(throttle.Medium), 100*v.share(throttle.Low))
}

// TestTransport_Overload overloads a server, without and with a throttle in the client.
func TestTransport_Overload(t *testing.T) {
	seconds := 60
	if testing.Short() {
		seconds = 15
	}
	var without, with visitors
	without.rush(t, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}, seconds/3)
	if got := without.share(throttle.High); got > 0.3 {
		t.Errorf("High without a throttle: got %.2f want at most 0.3, or there was no overload", got)
	}
	var dice sync.Mutex
	source := rand.New(rand.NewPCG(3, 4))
	transport := newTransport(t, &http.Transport{MaxIdleConnsPerHost: 4}, httpthrottle.TransportConfig{Throttle: throttle.Config{
		Policy: throttle.Tiered, Now: with.now, Rand: func() float64 {
			dice.Lock()
			defer dice.Unlock()
			return source.Float64()
		},
	}})
	with.rush(t, &http.Client{Transport: transport}, seconds)
	if got := with.share(throttle.High); got < 0.8 {
		t.Errorf("High with the throttle: got %.2f want at least 0.8", got)
	}
	if high, low := with.share(throttle.High), with.share(throttle.Low); high < 2*low {
		t.Errorf("got %.2f of High and %.2f of Low want more than twice as much", high, low)
	}
}
