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

// uploaded is a body that is sent, and what changes its request.
type uploaded struct {
	body  func() io.Reader
	set   func(*http.Request)
	again bool // it can be sent again
	want  []byte
}

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
	plain := func(*http.Request) {}
	fromGetBody := func(r *http.Request) { // as a program does for a body of its own
		r.ContentLength = -1 // chunked
		r.GetBody = func() (io.ReadCloser, error) { return open().(*os.File), nil }
	}
	var requests sync.WaitGroup // at the same time: a server waits before it closes a connection
	for name, c := range map[string]uploaded{
		"none":              {func() io.Reader { return nil }, plain, true, nil},
		"empty string":      {func() io.Reader { return strings.NewReader("") }, plain, true, nil},
		"bytes.Reader":      {func() io.Reader { return bytes.NewReader(long) }, plain, true, long},
		"expect":            {func() io.Reader { return bytes.NewReader(long) }, func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, true, long},
		"file with GetBody": {open, fromGetBody, true, long},
		"file":              {open, plain, false, long},
		"stream":            {func() io.Reader { return io.MultiReader(bytes.NewReader(long)) }, plain, false, long},
	} {
		for _, http2 := range []bool{false, true} {
			for _, rejects := range []string{"after the body", "before the body", "by closing"} {
				requests.Go(func() { c.send(t, name+" "+rejects, rejects, http2) })
			}
		}
	}
	requests.Wait()
}

func (u uploaded) send(t *testing.T, name, rejects string, http2 bool) {
	var arrived atomic.Int64
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rejected := arrived.Add(1) < 3
		if rejected && rejects == "by closing" {
			panic(http.ErrAbortHandler)
		}
		if !rejected || rejects == "after the body" {
			body, _ := io.ReadAll(r.Body)
			equal(t, name+": the whole body has arrived", bytes.Equal(body, u.want), true)
		}
		if rejected {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), http2)
	often := often()
	often.Attempts = 6 // an attempt on a connection that closes may not arrive
	r := throttle.Must(http.NewRequestWithContext(t.Context(), http.MethodPut, at.url, u.body()))
	u.set(r)
	response, err := (&http.Client{Transport: retrying(t, at.client.Transport, httpthrottle.TransportConfig{Retry: often})}).Do(r)
	accepted := err == nil && response.StatusCode == http.StatusOK
	if err == nil {
		_ = response.Body.Close()
	}
	attempts := int64(1)
	if u.again {
		attempts = 3
	}
	equal(t, name+": attempts", arrived.Load(), attempts)
	equal(t, name+": is accepted", accepted, u.again)
}
