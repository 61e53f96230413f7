package statusz

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
)

// onPage tests a page in a bubble, and closes it.
func onPage(t *testing.T, test func(t *testing.T, p *Page)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := New()
		defer p.Close()
		test(t, p)
	})
}

// newThrottle returns a throttle with the hooks of the page.
func newThrottle(t testing.TB, p *Page, c throttle.Config) *throttle.Throttle {
	t.Helper()
	c.Hooks = throttle.JoinHooks(c.Hooks, p.Hooks())
	th, err := throttle.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func call(th *throttle.Throttle, p throttle.Priority, n int, err error) {
	for range n {
		_ = th.Do(context.Background(), p, func(context.Context) error { return err })
	}
}

// down is what a backend says that is out of capacity.
func down() error { return faults.Unavailable(0) }

// tick waits for the next sample.
func tick() {
	time.Sleep(sampleInterval)
	synctest.Wait()
}

// request asks a page, or whatever handler it is.
func request(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// show returns what the page shows as JSON.
func show(t testing.TB, p *Page) document {
	t.Helper()
	w := request(p, http.MethodGet, "/debug/throttle?format=json&history=1")
	if w.Code != http.StatusOK {
		t.Fatalf("JSON: got status %d (%s) want 200", w.Code, w.Body)
	}
	var doc document
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("JSON: %v in %s", err, w.Body)
	}
	return doc
}

// find returns the row of a name.
func find(t testing.TB, doc document, name string) throttleDocument {
	t.Helper()
	for _, row := range doc.Throttles {
		if row.Name == name {
			return row
		}
	}
	t.Fatalf("got %d rows, none of them %q", len(doc.Throttles), name)
	return throttleDocument{}
}

// site is a server without a network, so that synctest can govern its deadlines.
type site struct {
	conns     chan net.Conn
	ended     chan struct{}
	closeOnce sync.Once
	server    *http.Server
	client    *http.Client
}

// host serves h until the test ends.
func host(t testing.TB, h http.Handler, configure ...func(*http.Server)) *site {
	t.Helper()
	s := &site{conns: make(chan net.Conn), ended: make(chan struct{})}
	s.server = &http.Server{Handler: h}
	for _, f := range configure {
		f(s.server)
	}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return s.dial() },
	}
	s.client = &http.Client{Transport: transport}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.server.Serve(s)
	}()
	t.Cleanup(func() {
		_ = s.server.Close()
		transport.CloseIdleConnections()
		<-served
	})
	return s
}

// Accept, Close and Addr make a net.Listener of the site.
func (s *site) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

func (s *site) Close() error {
	s.closeOnce.Do(func() { close(s.ended) })
	return nil
}

func (s *site) Addr() net.Addr { return &net.UnixAddr{Name: "site"} }

func (s *site) dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case s.conns <- far:
		return near, nil
	case <-s.ended:
		return nil, errors.New("the server has ended")
	}
}

// subscription is a stream as a client has it.
type subscription struct {
	response *http.Response
	lines    *bufio.Reader
	cancel   context.CancelFunc
}

// subscribe opens a stream.
func (s *site) subscribe(t testing.TB) *subscription {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://site/debug/throttle?format=stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return &subscription{response: response, lines: bufio.NewReader(response.Body), cancel: cancel}
}

func (s *subscription) next() (name string, data map[string]any, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err != nil:
			return "", nil, err
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			err := json.Unmarshal([]byte(line[len("data: "):]), &data)
			if err != nil {
				return name, nil, err
			}
		case line == "" && name != "":
			return name, data, nil
		}
	}
}

func (s *subscription) leave() {
	s.cancel()
	_ = s.response.Body.Close()
}
