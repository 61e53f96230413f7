package statusz

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

func TestStream_changes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		busy := newThrottle(t, p, throttle.Config{Name: "busy", Policy: throttle.SRE, Priorities: 2})
		newThrottle(t, p, throttle.Config{Name: "idle"})
		call(busy, throttle.Important, 9, nil)
		viewer := host(t, p).subscribe(t)
		if got := viewer.response.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("got content type %q", got)
		}
		name, data, err := viewer.next()
		if err != nil || name != "snapshot" {
			t.Fatalf("got event %q, %v, want a snapshot", name, err)
		}
		rows := data["throttles"].([]any)
		first := rows[0].(map[string]any)
		if len(rows) != 2 || first["name"] != "busy" || fmt.Sprint(first["figures"]) !=
			"[[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 []] [9 0 0 0 0 0 0 0 0 0 0 0 0 9 0 0 0 0 0 [0 0 9]]]" {
			t.Errorf("snapshot: got %d rows, the first %v", len(rows), first)
		}
		expect := func(moment string, want map[string]string) {
			t.Helper()
			name, data, err := viewer.next()
			if err != nil || name != "sample" {
				t.Fatalf("%s: got event %q, %v, want a sample", moment, name, err)
			}
			delete(data, "time")
			for field, value := range data {
				if got := fmt.Sprint(value); got != want[field] {
					t.Errorf("%s: got %s %s want %s", moment, field, got, want[field])
				}
			}
			if len(data) != len(want) {
				t.Errorf("%s: got %d fields want %d", moment, len(data), len(want))
			}
		}
		expect("nothing new", nil)
		call(busy, throttle.High, 1, nil)
		expect("a call", map[string]string{"figures": "[[1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 [0 0 1]]]"})
		_ = busy.Tune(throttle.Patch{Mode: new(throttle.ModeOff)})
		expect("a setting", map[string]string{"rows": "[map[alert:none background:0 exempt:0 id:1 instances:1 minimum_rate:1 mixed:false mode:off name:busy " +
			"policy:sre priorities:[high important] processor_wait_seconds:0 ratio:2 state_since: target_rejection:0 window_seconds:60]]"})
		_ = busy.Close()
		remove := p.Add(SourceFunc(func() Status { return Status{Kind: "breaker", Name: "b", State: "open"} }))
		expect("a source, and a throttle less", map[string]string{"gone": "[1]", "sources": "[map[figures:[] id:3 kind:breaker " +
			"level:ok name:b state:open transitions:[]]]"})
		expect("nothing new of the source", nil)
		remove()
		expect("a source less", map[string]string{"gone_sources": "[3]"})
	})
}

// TestStream_snapshotHasTheHistory opens a second stream after some samples.
func TestStream_snapshotHasTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		th := newThrottle(t, p, throttle.Config{Name: "orders", Priorities: 1})
		show(t, p)
		for i := range 3 {
			call(th, throttle.High, 2*i, nil)
			tick()
		}
		_, data, err := host(t, p).subscribe(t).next()
		if err != nil {
			t.Fatal(err)
		}
		row := data["throttles"].([]any)[0].(map[string]any)
		if got, want := fmt.Sprint(row["history"], row["samples"]), "[[[0 2 4] 0 0 0]] 3"; got != want {
			t.Errorf("got history %s want %s", got, want)
		}
		if times := data["times"].([]any); len(times) != 3 || times[2] != data["time"] {
			t.Errorf("got times %v at %v", times, data["time"])
		}
	})
}

func TestStream_many(t *testing.T) {
	streams, events := 200, 60
	if testing.Short() {
		streams, events = 20, 20
	}
	synctest.Test(t, func(t *testing.T) {
		p := New()
		newThrottle(t, p, throttle.Config{Name: "orders"})
		s := host(t, p)
		var viewers sync.WaitGroup
		for range streams {
			viewers.Go(func() {
				viewer := s.subscribe(t)
				for i := range events {
					name, _, err := viewer.next()
					if want := "sample"; err != nil || i > 0 && name != want || i == 0 && name != "snapshot" {
						t.Errorf("event %d: got %q, %v", i, name, err)
						return
					}
				}
				viewer.leave()
			})
		}
		viewers.Wait()
		_ = p.Close()
	})
}

func TestStream_tooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		s := host(t, p)
		first := s.subscribe(t)
		for range maxStreams - 1 {
			s.subscribe(t)
		}
		refused := s.subscribe(t).response
		if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
			t.Errorf("stream 257: got status %d, Retry-After %q, want 503 and some", refused.StatusCode, refused.Header.Get("Retry-After"))
		}
		if doc := show(t, p); doc.Time == "" {
			t.Error("got no JSON beside 256 streams")
		}
		first.leave()
		synctest.Wait()
		if got := s.subscribe(t).response.StatusCode; got != http.StatusOK {
			t.Errorf("after one has left: got status %d want 200", got)
		}
	})
}

// TestStream_deadClient has a client that requests the stream and never reads.
func TestStream_deadClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		newThrottle(t, p, throttle.Config{Name: "orders"})
		s, answering := audited(t, p)
		defer s.ask(t, "/?format=stream").Close()
		synctest.Wait()
		viewer := s.subscribe(t)
		started := time.Now()
		for i := range 60 {
			if _, _, err := viewer.next(); err != nil {
				t.Fatalf("event %d of the other client: %v", i, err)
			}
		}
		if took := time.Since(started); took != 59*sampleInterval {
			t.Errorf("got 60 events in %v, want 59s: the dead client is in the way", took)
		}
		if got := answering.Load(); got != 1 {
			t.Errorf("got %d streams want 1: the dead client is still there", got)
		}
	})
}

// TestStream_serverTimeouts has a server whose timeouts are shorter than a stream.
func TestStream_serverTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		viewer := host(t, p, func(s *http.Server) {
			s.ReadTimeout, s.WriteTimeout = 3*time.Second, 3*time.Second
		}).subscribe(t)
		for i := range 60 {
			if _, _, err := viewer.next(); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
		}
	})
}

// mute is an http.ResponseWriter that cannot flush.
type mute struct {
	header http.Header
	status int
	body   strings.Builder
}

func (m *mute) Header() http.Header         { return m.header }
func (m *mute) Write(b []byte) (int, error) { return m.body.Write(b) }
func (m *mute) WriteHeader(status int)      { m.status = status }

func TestStream_needsFlush(t *testing.T) {
	p := New()
	defer p.Close()
	w := &mute{header: http.Header{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/?format=stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.ServeHTTP(w, r)
	if w.status != http.StatusInternalServerError || !strings.Contains(w.body.String(), "Flush") {
		t.Errorf("got status %d, %q, want 500 and a word about Flush", w.status, w.body.String())
	}
	if got := w.header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("got content type %q", got)
	}
}

// TestStream_eventSize measures the events of many throttles.
func TestStream_eventSize(t *testing.T) {
	count := 1000
	if testing.Short() {
		count = 100
	}
	p := New()
	defer p.Close()
	s := p.newSampler()
	throttles := make([]*throttle.Throttle, count)
	for i := range throttles {
		throttles[i] = newThrottle(t, p, throttle.Config{Name: fmt.Sprintf("tenant-%04d.example.com", i)})
	}
	sample := func(load int) int {
		for _, th := range throttles {
			for priority := range throttle.Priority(throttle.StandardPriorities) {
				call(th, priority, load, nil)
				call(th, priority, load, down())
			}
		}
		s.sample()
		return len(s.latest.Load().event.data)
	}
	sample(0)
	if got := sample(0); got > 100 {
		t.Errorf("nothing new: got an event of %d bytes", got)
	}
	if got := sample(50); got < 100*count || got > 620*count {
		t.Errorf("all of them overloaded: got an event of %d bytes, want 100 to 620 for each of %d throttles", got, count)
	}
	t.Logf("all overloaded: event %d kB, snapshot %d kB, JSON %d kB",
		len(s.latest.Load().event.data)/1000, len(s.latest.Load().snapshot())/1000, len(s.latest.Load().document())/1000)
}
