package httpthrottle_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

func TestBody_OutcomeAtTheHeader(t *testing.T) {
	for status, want := range map[int]string{
		200: "accepted/none", 301: "accepted/none", 404: "accepted/missing", 429: "rejected/quota", 500: "accepted/other",
		503: "rejected/availability", 504: "rejected/timeout",
	} {
		rec := throttletest.NewRecorder()
		transport := newTransport(t, answers(status, "text"), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: rec.Hooks()}})
		th := throttleOf(t, transport, host)
		response := ask(t, transport, get(t.Context()))
		equal(t, "at the header", books(th), "1 medium "+want+", 1 medium in flight")
		equal(t, "hook calls", hookCalls(rec), "1 started, 0 finished")
		text, err := io.ReadAll(response.Body)
		equal(t, "text", string(text), "text")
		equal(t, "error", err, nil)
		equal(t, "at the end", books(th), "1 medium "+want)
		equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
		equal(t, "error of Finished", fmt.Sprint(rec.Finished()[0].Err), fmt.Sprint(httpthrottle.StatusError(response)))
		_ = response.Body.Close()
		equal(t, "when closed, too", books(th), "1 medium "+want)
		equal(t, "hook calls", hookCalls(rec), "1 started, 1 finished")
	}
}

// broken is a body whose Read and Close fail.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return b.err }

func TestBody_EndsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		body io.ReadCloser
		do   func(io.ReadCloser)
		want string
		err  error
	}{
		"left open":       {io.NopCloser(strings.NewReader("12")), func(io.ReadCloser) {}, "1 medium accepted/none, 1 medium in flight", nil},
		"read in part":    {io.NopCloser(strings.NewReader("12")), func(b io.ReadCloser) { _, _ = b.Read(make([]byte, 1)) }, "1 medium accepted/none, 1 medium in flight", nil},
		"closed":          {io.NopCloser(strings.NewReader("12")), func(b io.ReadCloser) { _ = b.Close() }, "1 medium accepted/none", nil},
		"read to the end": {io.NopCloser(strings.NewReader("12")), func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) }, "1 medium accepted/none", nil},
		"breaks":          {broken{errPlain}, func(b io.ReadCloser) { _, _ = b.Read(nil) }, "1 medium accepted/none", errPlain},
		"fails to close":  {broken{errPlain}, func(b io.ReadCloser) { _ = b.Close() }, "1 medium accepted/none", nil},
	} {
		t.Run(name, func(t *testing.T) {
			rec := throttletest.NewRecorder()
			transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: c.body}, nil
			}), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: rec.Hooks()}})
			response := ask(t, transport, get(t.Context()))
			c.do(response.Body)
			equal(t, "books", books(throttleOf(t, transport, host)), c.want)
			if ends := rec.Finished(); len(ends) > 0 {
				equal(t, "error of Finished", ends[0].Err, c.err)
			}
			if name != "left open" {
				equal(t, "error of Close", response.Body.Close(), c.body.Close())
			}
		})
	}
}

func TestBody_None(t *testing.T) {
	open := io.NopCloser(strings.NewReader(""))
	for name, c := range map[string]struct {
		method string
		body   io.ReadCloser
	}{"NoBody": {"GET", http.NoBody}, "nil": {"GET", nil}, "HEAD": {"HEAD", open}} {
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: c.body}, nil
		}), httpthrottle.TransportConfig{})
		response, err := transport.RoundTrip(request(t.Context(), c.method, http.NoBody))
		equal(t, name+": error", err, nil)
		equal(t, name+": body", response.Body, c.body)
		equal(t, name, books(throttleOf(t, transport, host)), "1 medium accepted/none")
	}
}

// stream is a body that can be written to.
type stream struct {
	io.Reader
	bytes.Buffer
	shut int
}

func (s *stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (s *stream) Close() error               { return nil }

// halfStream can be closed for writing, too.
type halfStream struct{ stream }

func (s *halfStream) CloseWrite() error { s.shut++; return errPlain }

func TestBody_Writable(t *testing.T) {
	plain, duplex, half := io.NopCloser(strings.NewReader("in")), &stream{Reader: strings.NewReader("in")}, &halfStream{stream{Reader: strings.NewReader("in")}}
	for name, c := range map[string]struct {
		body                 io.ReadCloser
		writable, halfCloses bool
	}{"plain": {plain, false, false}, "duplex": {duplex, true, false}, "half": {half, true, true}} {
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Body: c.body}, nil
		}), httpthrottle.TransportConfig{})
		response := ask(t, transport, get(t.Context()))
		w, ok := response.Body.(io.Writer)
		equal(t, name+": is a Writer", ok, c.writable)
		if ok {
			_, _ = io.WriteString(w, "out")
		}
		h, ok := response.Body.(interface{ CloseWrite() error })
		equal(t, name+": is a half-closer", ok, c.halfCloses)
		if ok {
			equal(t, name+": error of CloseWrite", h.CloseWrite(), errPlain)
		}
		th := throttleOf(t, transport, host)
		equal(t, name+": books", books(th), "1 medium accepted/none, 1 medium in flight")
		text, _ := io.ReadAll(response.Body)
		equal(t, name+": read", string(text), "in")
		equal(t, name+": books at the end", books(th), "1 medium accepted/none")
	}
	equal(t, "written", duplex.String()+" "+half.String(), "out out")
	equal(t, "half-closed", half.shut, 1)
}
