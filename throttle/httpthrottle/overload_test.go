package httpthrottle_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

const (
	// asShop makes this test's binary a shop that can be overloaded.
	asShop = "SPILLWAY_HTTP_SHOP"
	// clockHeader is how visitors tell the shop the time. It passes with their visits, so both processes live by it, and how fast
	// the machine is changes nothing.
	clockHeader = "Test-Clock"

	shopCapacity = 100 // visits a second
	timesTooMany = 5
)

// TestMain runs the tests, or the shop that one of them has started.
func TestMain(m *testing.M) {
	if os.Getenv(asShop) != "" {
		os.Exit(openShop(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// openShop serves as many visits as it can, says 503 to the others, whose work that is too, and knows no priorities. It tells where it
// is, and closes when it hears no more.
func openShop(in io.Reader, out io.Writer) (code int) {
	var clock atomic.Int64
	backend, err := throttletest.NewBackend(throttletest.BackendConfig{
		Capacity: shopCapacity, Now: func() time.Time { return time.Unix(0, clock.Load()) },
	})
	if err != nil {
		return 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	fmt.Fprintln(out, listener.Addr())
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at, err := strconv.ParseInt(r.Header.Get(clockHeader), 10, 64); err == nil && at > clock.Load() {
			clock.Store(at) // two at once may set it back by a visit, which does not matter
		}
		if backend.Call(r.Context()) != nil {
			http.Error(w, "too much to do", http.StatusServiceUnavailable)
		}
	})}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	_ = server.Serve(listener)
	return 0
}

// startShop starts a shop in another process, and returns its address.
func startShop(t *testing.T) (url string) {
	t.Helper()
	shop := exec.CommandContext(t.Context(), os.Args[0])
	shop.Env = append(os.Environ(), asShop+"=1")
	shop.Stderr = os.Stderr
	in, err := shop.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := shop.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := shop.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the shop: got %v want a clean end", err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address)
}

// visitors visit a shop. Each visit takes them a step further in time.
type visitors struct {
	steps       atomic.Int64
	made, happy [throttle.StandardPriorities]atomic.Int64
}

// now is the visitors' time.
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
	r.Header.Set(clockHeader, strconv.FormatInt(v.now().UnixNano(), 10))
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

// rush sends visitors to a shop for so many seconds of their time, and tells how they fared.
func (v *visitors) rush(t *testing.T, what string, client *http.Client, seconds int) {
	t.Helper()
	url := startShop(t)
	var left atomic.Int64
	left.Store(int64(seconds * shopCapacity * timesTooMany))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			for left.Add(-1) >= 0 {
				v.visit(t, client, url, dice.IntN(10))
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	t.Logf("%s, at %d times the capacity: High %.0f %%, Important %.0f %%, Medium %.0f %%, Low %.0f %% succeed", what, timesTooMany,
		100*v.share(throttle.High), 100*v.share(throttle.Important), 100*v.share(throttle.Medium), 100*v.share(throttle.Low))
}

// TestAnOverloadedServer overloads a server in another process, which has a capacity and knows no priorities.
func TestAnOverloadedServer(t *testing.T) {
	var without, with visitors
	without.rush(t, "without a throttle", &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}, 20)
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
	with.rush(t, "with Tiered", &http.Client{Transport: transport}, 60)
	if got := with.share(throttle.High); got < 0.8 {
		t.Errorf("High with the throttle: got %.2f want at least 0.8", got)
	}
	if high, low := with.share(throttle.High), with.share(throttle.Low); high < 2*low {
		t.Errorf("got %.2f of High and %.2f of Low want more than twice as much", high, low)
	}
}
