package statusz

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// watched adds a throttle and returns how often its clock was read.
func watched(t *testing.T, p *Page) (reads *atomic.Int64) {
	reads = new(atomic.Int64)
	newThrottle(t, p, throttle.Config{Name: "watched", Now: func() time.Time {
		reads.Add(1)
		return time.Now()
	}})
	reads.Store(0)
	return reads
}

// TestSampler_idle never closes the page: at the end of the bubble no goroutine may be left.
func TestSampler_idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		reads := watched(t, p)
		expect := func(moment string, want int64) {
			t.Helper()
			synctest.Wait()
			if got := reads.Load(); got != want {
				t.Errorf("%s: got %d readings want %d", moment, got, want)
			}
		}
		request(p, http.MethodGet, "/")
		request(p, http.MethodHead, "/?format=stream")
		time.Sleep(time.Hour)
		expect("before the first viewer", 0)

		show(t, p)
		expect("at once", 1)
		time.Sleep(10*time.Second + sampleInterval/2)
		expect("10 seconds later", 11)

		show(t, p)
		expect("with a viewer who finds a sample", 11)
		time.Sleep(idleTimeout - time.Second)
		expect("almost 5 minutes after the last viewer", 11+299)
		time.Sleep(time.Hour)
		expect("an hour later", 11+300)

		doc := show(t, p)
		expect("with a new viewer", 11+301)
		if h := find(t, doc, "watched").Priorities[0].History; len(h.Probability) != 0 {
			t.Errorf("a new history: got %d samples want none", len(h.Probability))
		}
		time.Sleep(2 * idleTimeout)
	})
}

// TestSampler_stream goes on for longer than the timeouts of the server, and than the page samples without a viewer.
func TestSampler_stream(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		s := host(t, p, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = 3*time.Second, 3*time.Second })
		viewer := s.subscribe(t)
		for i := range 2 * int(idleTimeout/sampleInterval) {
			if _, _, err := viewer.next(); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
		}
	})
}

// TestSampler_ratesAndHistory follows a load that is known second by second.
func TestSampler_ratesAndHistory(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		th := newThrottle(t, p, throttle.Config{Name: "orders"})
		call(th, throttle.High, 1000, nil)
		if first := find(t, show(t, p), "orders").Priorities[0]; first.Rates != nil || first.Admitted != 1000 {
			t.Errorf("first sample: got rates %v, %d admitted, want none, 1000", first.Rates, first.Admitted)
		}
		time.Sleep(sampleInterval / 2) // between the samples
		for second := range 400 {
			if second%100 == 0 {
				show(t, p)
			}
			call(th, throttle.High, second%50, nil)
			time.Sleep(sampleInterval)
		}
		synctest.Wait()
		late := newThrottle(t, p, throttle.Config{Name: "late"})
		call(late, throttle.Low, 7, nil)
		tick()
		doc := show(t, p)
		high := find(t, doc, "orders").Priorities[0]
		if got := len(high.History.Admitted); got != historyLength {
			t.Fatalf("got %d samples want %d", got, historyLength)
		}
		for i, got := range high.History.Admitted[:historyLength-1] {
			if want := float32((400 - historyLength + 1 + i) % 50); got != want {
				t.Errorf("sample %d: got %v admitted per second want %v", i, got, want)
			}
		}
		low := find(t, doc, "late").Priorities[throttle.Low]
		if len(low.History.Admitted) != 1 || low.History.Admitted[0] != 7 || low.Rates.Admitted != 7 {
			t.Errorf("a throttle that came late: got history %v, rate %v, want one sample of 7", low.History.Admitted, low.Rates.Admitted)
		}
		for range 4 { // more than the history
			time.Sleep(100 * time.Second)
			doc = show(t, p)
		}
		if got := find(t, doc, "orders").Priorities[0].History.Admitted; len(got) != historyLength || slices.Max(got) != 0 {
			t.Errorf("without calls since: got %v want %d zeros", got, historyLength)
		}
	})
}

// TestSampler_late takes the next sample a full interval after one that came late, so that no rate is of a short time.
func TestSampler_late(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		var busy atomic.Bool
		newThrottle(t, p, throttle.Config{Name: "busy", Now: func() time.Time {
			if busy.CompareAndSwap(true, false) {
				time.Sleep(2*sampleInterval - sampleInterval/10)
			}
			return time.Now()
		}})
		th := newThrottle(t, p, throttle.Config{Name: "orders"})
		show(t, p)
		busy.Store(true)
		time.Sleep(3*sampleInterval - sampleInterval/20) // the first sample after the late one has been taken
		call(th, throttle.High, 10, nil)
		time.Sleep(2 * sampleInterval)
		if got := find(t, show(t, p), "orders").Priorities[0].History.Admitted; slices.Max(got) != 10 {
			t.Errorf("got %v admitted per second want at most 10", got)
		}
	})
}
