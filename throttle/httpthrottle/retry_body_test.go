package httpthrottle_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
	open := func() io.Reader {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
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
	for _, body := range []struct {
		name  string
		body  func() io.Reader
		set   func(*http.Request)
		again bool
		want  []byte
	}{
		{"none", func() io.Reader { return nil }, nil, true, nil},
		{"NoBody", func() io.Reader { return http.NoBody }, nil, true, nil},
		{"empty string", func() io.Reader { return strings.NewReader("") }, nil, true, nil},
		{"bytes.Reader", func() io.Reader { return bytes.NewReader(long) }, nil, true, long},
		{"bytes.Buffer", func() io.Reader { return bytes.NewBuffer(bytes.Clone(long)) }, nil, true, long},
		{"strings.Reader", func() io.Reader { return strings.NewReader(string(long)) }, nil, true, long},
		{"expect", func() io.Reader { return bytes.NewReader(long) }, func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, true, long},
		{"file with GetBody", open, fromGetBody, true, long},
		{"file", open, nil, false, long},
		{"pipe", piped, nil, false, long},
		{"reader", func() io.Reader { return io.MultiReader(bytes.NewReader(long)) }, nil, false, long},
	} {
		for _, http2 := range []bool{false, true} {
			for _, rejects := range []string{"after the body", "before the body", "by closing"} {
				t.Run(body.name+"/"+rejects, func(t *testing.T) {
					server := newRejecting(t, rejects, http2)
					often := often()
					often.Attempts = 6 // an attempt on a connection that closes may not arrive
					transport := retrying(t, server.Client().Transport, httpthrottle.TransportConfig{Retry: often})
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, body.body())
					if err != nil {
						t.Fatal(err)
					}
					if body.set != nil {
						body.set(r)
					}
					response, err := (&http.Client{Transport: transport}).Do(r)
					if err == nil {
						_, _ = io.Copy(io.Discard, response.Body)
						_ = response.Body.Close()
					}
					server.check(t, body.want, body.again, response, err)
				})
			}
		}
	}
}

// rejecting is a server that rejects the first two requests.
type rejecting struct {
	*httptest.Server

	mu       sync.Mutex
	requests int
	bodies   [][]byte // that were read to the end
}

func newRejecting(t *testing.T, rejects string, http2 bool) *rejecting {
	s := &rejecting{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		first := s.requests < 3
		s.mu.Unlock()
		if first && rejects == "by closing" {
			panic(http.ErrAbortHandler)
		}
		if !first || rejects == "after the body" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			s.bodies = append(s.bodies, body)
			s.mu.Unlock()
		}
		if first {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	s.EnableHTTP2 = http2
	if http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// check wants three attempts and a success, or one attempt that is rejected. Each body that arrived
// is the whole one.
func (s *rejecting) check(t *testing.T, want []byte, again bool, response *http.Response, err error) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	attempts := 1
	if again {
		attempts = 3
	}
	if s.requests != attempts {
		t.Errorf("got %d attempts want %d", s.requests, attempts)
	}
	if again && (err != nil || response.StatusCode != http.StatusOK || len(s.bodies) == 0) {
		t.Errorf("got %v, %v want a success", response, err)
	}
	if !again && err == nil && response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("got %v want the rejection", response.Status)
	}
	for i, body := range s.bodies {
		if !bytes.Equal(body, want) {
			t.Errorf("body %d has %d bytes and differs from that of the request, which has %d", i+1, len(body), len(want))
		}
	}
}
