package statusz

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
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
	onPage(t, func(t *testing.T, p *Page) {
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

// audited is a page on a server without timeouts of its own, and how many answers it is giving.
func audited(t *testing.T, p *Page) (s *site, answering *atomic.Int64) {
	answering = new(atomic.Int64)
	return host(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answering.Add(1)
		defer answering.Add(-1)
		p.ServeHTTP(w, r)
	})), answering
}

// ask sends a request, and reads no answer.
func (s *site) ask(t *testing.T, target string) net.Conn {
	t.Helper()
	conn, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// long returns a Status that has 42 kB in the JSON.
func long() Status {
	word := strings.Repeat("<", 200) // which is escaped by six bytes
	return Status{Name: strings.Repeat(word, 10), Figures: slices.Repeat([]Figure{{Name: word}}, maxFigures)}
}

// fill adds sources that are long in the first sample. Later samples are short, and cost little.
func fill(p *Page, sources int) {
	for range sources {
		s := long()
		p.Add(SourceFunc(func() Status {
			first := s
			s = Status{}
			return first
		}))
	}
}

// answers is what is asked for that has an end.
func answers() []string { return []string{"/?format=json", "/?format=json&history=1", "/"} }

// TestResponse_deadClients has clients that never read. Each holds an encoded document, which must be
// freed, and sampling must end.
func TestResponse_deadClients(t *testing.T) {
	for _, target := range append(answers(), "/?format=stream") {
		synctest.Test(t, func(t *testing.T) {
			p := New()                                             // not closed: at the end of the bubble no goroutine may be left
			p.Add(status(Status{Name: strings.Repeat("<", 2000)})) // 12 kB in the JSON
			s, answering := audited(t, p)
			for range 10 {
				defer s.ask(t, target).Close()
				time.Sleep(sampleInterval)
			}
			time.Sleep(writeTimeout)
			synctest.Wait()
			if got := answering.Load(); got > 0 {
				t.Errorf("GET %s: %d answers are still being written to clients that have read nothing for ten seconds", target, got)
			}
			time.Sleep(2 * idleTimeout)
		})
	}
}

// drip reads a piece of an answer at intervals, and returns how much there was until it ended.
func drip(conn net.Conn, every time.Duration) (bytes int64) {
	for {
		n, err := io.CopyN(io.Discard, conn, chunkSize)
		bytes += n
		if err != nil {
			return bytes
		}
		time.Sleep(every)
	}
}

// TestResponse_slowClients has clients that take each chunk in time, of a response of many chunks.
func TestResponse_slowClients(t *testing.T) {
	for _, tt := range []struct {
		every time.Duration
		all   bool
	}{
		{every: time.Second, all: true},
		{every: 3 * time.Second, all: true},
		{every: 9 * time.Second},
	} {
		onPage(t, func(t *testing.T, p *Page) {
			fill(p, 16)
			s, answering := audited(t, p)
			size := int64(request(p, http.MethodGet, "/?format=json").Body.Len())
			if pieces := size / chunkSize; pieces < 8 || pieces > 18 {
				t.Fatalf("got %d pieces want 8 to 18, which take a minute at 9 s each and not at 3 s", pieces)
			}
			if got := drip(s.ask(t, "/?format=json"), tt.every); got > size != tt.all {
				t.Errorf("a piece every %v: got %d bytes of %d and a header, want all: %v", tt.every, got, size, tt.all)
			}
			synctest.Wait()
			if got := answering.Load(); got > 0 {
				t.Errorf("a piece every %v: got %d answers under way want none", tt.every, got)
			}
		})
	}
}

// TestResponse_close closes the page while slow clients take their chunks. No event ends these responses.
func TestResponse_close(t *testing.T) {
	for _, target := range append(answers()[:2], "/?format=stream") {
		synctest.Test(t, func(t *testing.T) {
			p := New()
			fill(p, 16)
			s, answering := audited(t, p)
			conn := s.ask(t, target)
			go drip(conn, writeTimeout/2)
			time.Sleep(writeTimeout)
			_ = p.Close()
			time.Sleep(writeTimeout)
			synctest.Wait()
			if got := answering.Load(); got > 0 {
				t.Errorf("GET %s: got %d answers ten seconds after Close, want none", target, got)
			}
			_ = conn.Close()
		})
	}
}

// TestStream_close: Close ends a stream that waits for its next event.
func TestStream_close(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		viewer := host(t, p).subscribe(t)
		if _, _, err := viewer.next(); err != nil {
			t.Fatal(err)
		}
		_ = p.Close()
		if _, _, err := viewer.next(); err == nil {
			t.Error("the stream goes on after Close")
		}
	})
}

// TestResponse_tooMany has the maximum of dead clients, and of streams, and one more of each.
func TestResponse_tooMany(t *testing.T) {
	onPage(t, func(t *testing.T, p *Page) {
		fill(p, 1)
		s, _ := audited(t, p)
		for i := range maxResponses {
			defer s.ask(t, answers()[i%3]).Close()
		}
		synctest.Wait()
		answered := func(want int) {
			t.Helper()
			for _, target := range answers() {
				w := request(p, http.MethodGet, target)
				if w.Code != want || (w.Header().Get("Retry-After") != "") != (want == 503) {
					t.Errorf("GET %s: got status %d, Retry-After %q want %d", target, w.Code, w.Header().Get("Retry-After"), want)
				}
			}
		}
		answered(503)
		first := s.subscribe(t)
		for range maxStreams - 1 {
			s.subscribe(t)
		}
		if got := s.subscribe(t).response.StatusCode; first.response.StatusCode != http.StatusOK || got != 503 {
			t.Errorf("got status %d of the first stream and %d of one too many want 200 and 503", first.response.StatusCode, got)
		}
		first.leave()
		synctest.Wait()
		if got := s.subscribe(t).response.StatusCode; got != http.StatusOK {
			t.Errorf("a stream after one has left: got status %d want 200", got)
		}
		time.Sleep(writeTimeout)
		synctest.Wait()
		answered(200) // the dead clients were dropped
	})
}

// mute is an http.ResponseWriter without deadlines and Flush.
type mute struct {
	header http.Header
	status int
	body   strings.Builder
}

func (m *mute) Header() http.Header         { return m.header }
func (m *mute) Write(b []byte) (int, error) { return m.body.Write(b) }
func (m *mute) WriteHeader(status int)      { m.status = status }

// TestResponse_muteWriter expects whole documents, and an error for a stream, which needs Flush.
func TestResponse_muteWriter(t *testing.T) {
	p := New()
	defer p.Close()
	for _, target := range append(answers(), "/?format=stream") {
		w, want := &mute{header: http.Header{}}, 0
		if target != "/?format=stream" {
			want = request(p, http.MethodGet, target).Body.Len()
		}
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody))
		if got := w.body.Len(); want > 0 && (w.status != 0 || got != want) {
			t.Errorf("GET %s: got status %d and %d bytes want %d", target, w.status, got, want)
		}
		if text := w.body.String(); want == 0 && (w.status != 500 || !strings.Contains(text, "Flush") || !strings.HasPrefix(w.header.Get("Content-Type"), "text/plain")) {
			t.Errorf("GET %s: got status %d, %q want 500 and a word about Flush", target, w.status, text)
		}
	}
}
