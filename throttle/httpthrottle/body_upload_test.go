package httpthrottle_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// An upload that breaks off is the caller's fault, even if the server has read a part of it.
func TestBody_FailedUpload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	for name, body := range map[string]io.Reader{
		"at once": iotest.ErrReader(errPlain),
		"later":   io.MultiReader(strings.NewReader(strings.Repeat("a", 100_000)), iotest.ErrReader(errPlain)),
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
		got, err := send(t, &http.Transport{DisableKeepAlives: true}, r)
		if err == nil { // the server was faster
			continue
		}
		equal(t, name, got, "1 medium ignored/bad")
		equal(t, name+": error", errors.Is(err, errPlain), true)
	}
	closing := errors.New("closed by the base")
	r := request(t.Context(), http.MethodPost, &closedBody{err: closing})
	got, _ := send(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		_ = r.Body.Close()
		_, err := r.Body.Read(nil)
		return nil, err
	}), r)
	equal(t, "an error after Close", got, "1 medium rejected/availability")
	r = request(t.Context(), http.MethodPost, io.LimitReader(strings.NewReader("text"), 2))
	got, _ = send(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadAll(r.Body)
		return nil, errPlain
	}), r)
	equal(t, "an upload that ended well", got, "1 medium rejected/availability")
}

type closedBody struct{ err error }

func (b *closedBody) Read([]byte) (int, error) { return 0, b.err }
func (b *closedBody) Close() error             { return nil }

// Only bodies that may fail are wrapped. net/http sends the others in faster ways.
func TestBody_WrappedUploads(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	pipe, _ := io.Pipe()
	for name, c := range map[string]struct {
		body    io.Reader
		watched bool
	}{
		"nil": {nil, false}, "NoBody": {http.NoBody, false}, "bytes": {bytes.NewReader([]byte("1")), false}, "string": {strings.NewReader("1"), false},
		"buffer": {bytes.NewBufferString("1"), false}, "file": {file, false}, "pipe": {pipe, true}, "stream": {io.LimitReader(file, 1), true},
	} {
		r := request(t.Context(), http.MethodPost, c.body)
		before := *r
		transport := newTransport(t, roundTrip(func(sent *http.Request) (*http.Response, error) {
			equal(t, name+": request replaced", sent != r, c.watched)
			equal(t, name+": body replaced", sent.Body != r.Body, c.watched)
			return answers(200, "")(sent)
		}), httpthrottle.TransportConfig{})
		response := ask(t, transport, r)
		equal(t, name+": response's request is the caller's", response.Request, r)
		equal(t, name+": caller's body untouched", r.Body, before.Body)
		_ = response.Body.Close()
	}
}
