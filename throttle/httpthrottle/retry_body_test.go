package httpthrottle_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// TestRetry_Bodies sends every kind of body that net/http has over real connections, to a server that
// rejects the first attempts: after it has read the body, before, or by closing the connection.
func TestRetry_Bodies(t *testing.T) {
	long := make([]byte, 300_000)
	for i := range long {
		long[i] = byte(rand.IntN(256))
	}
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, long, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() io.Reader { return throttle.Must(os.Open(file)) }
	piped := func() io.Reader {
		r, w := io.Pipe()
		go func() {
			_, err := w.Write(long)
			_ = w.CloseWithError(err)
		}()
		return r
	}
	fromGetBody := func(r *http.Request) { // as a program does for a body of its own
		r.ContentLength = -1 // chunked
		r.GetBody = func() (io.ReadCloser, error) { return open().(*os.File), nil }
	}
	var requests sync.WaitGroup // at the same time: a server waits before it closes a connection
	for name, c := range map[string]uploaded{
		"none":              {func() io.Reader { return nil }, nil, true, nil},
		"empty string":      {func() io.Reader { return strings.NewReader("") }, nil, true, nil},
		"bytes.Reader":      {func() io.Reader { return bytes.NewReader(long) }, nil, true, long},
		"expect":            {func() io.Reader { return bytes.NewReader(long) }, func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, true, long},
		"file with GetBody": {open, fromGetBody, true, long},
		"file":              {open, nil, false, long},
		"pipe":              {piped, nil, false, long},
	} {
		for _, http2 := range []bool{false, true} {
			for _, rejects := range []string{"after the body", "before the body", "by closing"} {
				requests.Go(func() { c.send(t, name+" "+rejects, rejects, http2) })
			}
		}
	}
	requests.Wait()
}

type uploaded struct {
	body  func() io.Reader
	set   func(*http.Request)
	again bool // it can be sent again
	want  []byte
}

func (u uploaded) send(t *testing.T, name, rejects string, http2 bool) {
	server := &rejecting{by: rejects}
	at := serve(t, server, http2)
	often := often()
	often.Attempts = 6 // an attempt on a connection that closes may not arrive
	transport := retrying(t, at.client.Transport, httpthrottle.TransportConfig{Retry: often})
	r := throttle.Must(http.NewRequestWithContext(t.Context(), http.MethodPut, at.url, u.body()))
	if u.set != nil {
		u.set(r)
	}
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	attempts, accepted := 1, err == nil && response.StatusCode == http.StatusOK
	if u.again {
		attempts = 3
	}
	equal(t, name+": attempts", int(server.requests.Load()), attempts)
	equal(t, name+": is accepted", accepted, u.again)
	server.mu.Lock()
	defer server.mu.Unlock()
	for _, got := range server.bodies {
		equal(t, name+": the whole body has arrived", bytes.Equal(got, u.want), true)
	}
}

type rejecting struct {
	by       string
	requests atomic.Int64
	mu       sync.Mutex
	bodies   [][]byte // that were read to the end
}

func (s *rejecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := s.requests.Add(1) < 3
	if first && s.by == "by closing" {
		panic(http.ErrAbortHandler)
	}
	if !first || s.by == "after the body" {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
	}
	if first {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}
