package statusz

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// record adds the next event to a text, with a line for each of its fields.
func (s *subscription) record(t *testing.T, to *strings.Builder, step string) {
	t.Helper()
	name, data, err := s.next()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	fmt.Fprintf(to, "# %s: %s\n", step, name)
	delete(data, "faults") // as package throttle has them
	for _, field := range slices.Sorted(maps.Keys(data)) {
		value, err := json.Marshal(data[field])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(to, "%s %s\n", field, value)
	}
}

// TestStream_golden compares the events of a stream with testdata/stream.txt. Each has what has changed, and nothing else. A second
// viewer gets the history.
func TestStream_golden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		p.process = process{Command: "shop", Host: "web-7", PID: 4711, Go: "go1.26.0", Started: timestamp(time.Now())}
		var overloaded atomic.Bool
		p.stats = func() (s throttle.ProcessorStats) {
			if overloaded.Load() {
				s = overloadedProcess()
			}
			return s
		}
		busy := newThrottle(t, p, throttle.Config{Name: "busy", Policy: throttle.SRE, Priorities: 2, Slow: 100 * time.Millisecond})
		hosts := newGroup(t, p, throttle.Config{Name: "hosts", Priorities: 1})
		member := throttle.Must(hosts.Get("a"))
		call(busy, throttle.Important, 9, nil)
		s := host(t, p)
		viewer := s.subscribe(t)
		if got := viewer.response.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
			t.Errorf("got content type %q", got)
		}
		var remove func()
		var got strings.Builder
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"all", func() {}},
			{"nothing new", func() {}},
			{"a call, and one that is rejected", func() { call(busy, throttle.High, 1, nil); call(busy, throttle.High, 1, down()) }},
			{"a late call", func() {
				c := throttle.Must(busy.Admit(t.Context(), throttle.High))
				time.Sleep(sampleInterval / 2)
				busy.Stats()
				c.Done(nil)
			}},
			{"settings", func() { _ = busy.Tune(throttle.Patch{Mode: new(throttle.ModeOff), Slow: new(throttle.Duration(0))}) }},
			{"calls of a member", func() { call(member, throttle.High, 2, nil) }},
			{"a member less, and one of no group", func() { newThrottle(t, p, throttle.Config{Name: "hosts", Priorities: 1}); _ = member.Close() }},
			{"requests wait for a processor", func() { overloaded.Store(true) }},
			{"a source, and a throttle less", func() {
				_ = busy.Close()
				remove = p.Add(status(Status{Kind: "breaker", Name: "b", State: "open"}))
			}},
			{"nothing new of the source", func() {}},
			{"a source less", func() { remove() }},
		} {
			step.do()
			viewer.record(t, &got, step.name)
		}
		s.subscribe(t).record(t, &got, "a second viewer")
		want, err := os.ReadFile("testdata/stream.txt")
		if err != nil || got.String() != string(want) {
			t.Errorf("got\n%s\nwant testdata/stream.txt (%v)", got.String(), err)
		}
	})
}

// TestStream_many has a server whose timeouts are shorter than a stream.
func TestStream_many(t *testing.T) {
	streams := 200
	if testing.Short() {
		streams = 20
	}
	synctest.Test(t, func(t *testing.T) {
		p := New()
		newThrottle(t, p, throttle.Config{Name: "orders"})
		s := host(t, p, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = 3*time.Second, 3*time.Second })
		var viewers sync.WaitGroup
		for range streams {
			viewers.Go(func() {
				viewer := s.subscribe(t)
				for i := range 60 {
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
