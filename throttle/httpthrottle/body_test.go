package httpthrottle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
	"github.com/spillway-go/spillway/throttle/throttletest"
)

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
func (b broken) Close() error             { return b.err }

// The outcome is that of the header. The call is in flight to the end of the body.
func TestBody_EndsTheCall(t *testing.T) {
	text := func() io.ReadCloser { return io.NopCloser(strings.NewReader("12")) }
	for name, c := range map[string]struct {
		body io.ReadCloser
		do   func(io.ReadCloser)
		open bool
		err  error // of Finished
	}{
		"left open":       {text(), func(io.ReadCloser) {}, true, nil},
		"read in part":    {text(), func(b io.ReadCloser) { _, _ = b.Read(make([]byte, 1)) }, true, nil},
		"closed":          {text(), func(b io.ReadCloser) { _ = b.Close() }, false, httpthrottle.StatusCodeError(404)},
		"read to the end": {text(), func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) }, false, httpthrottle.StatusCodeError(404)},
		"breaks":          {broken{errPlain}, func(b io.ReadCloser) { _, _ = b.Read(nil) }, false, errPlain},
		"fails to close":  {broken{errPlain}, func(b io.ReadCloser) { _ = b.Close() }, false, httpthrottle.StatusCodeError(404)},
	} {
		rec := throttletest.NewRecorder()
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 404, Body: c.body}, nil
		}), httpthrottle.TransportConfig{Throttle: throttle.Config{Hooks: rec.Hooks()}})
		response := ask(t, transport, get(t.Context()))
		equal(t, name+": at the header", books(throttleOf(t, transport, host)), "1 medium accepted/missing, 1 medium in flight")
		for range 2 {
			c.do(response.Body)
		}
		if c.open {
			equal(t, name+": hook calls", hookCalls(rec), "1 started, 0 finished")
			equal(t, name+": error of Close", response.Body.Close(), nil)
			continue
		}
		equal(t, name+": at the end", books(throttleOf(t, transport, host)), "1 medium accepted/missing")
		equal(t, name+": hook calls", hookCalls(rec), "1 started, 1 finished")
		equal(t, name+": error of Finished", fmt.Sprint(rec.Finished()[0].Err), fmt.Sprint(c.err))
		equal(t, name+": error of Close", response.Body.Close(), c.body.Close())
	}
}

type stream struct {
	io.Reader
	bytes.Buffer
	shut int
}

func (s *stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (s *stream) Close() error               { return nil }

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

// An upload may time out at its own source, or its caller may break it off late: the server has not got it yet.
func TestBody_FailedUpload_late(t *testing.T) {
	for name, c := range map[string]struct {
		source error
		cancel bool
		want   string
	}{
		"times out":  {os.ErrDeadlineExceeded, false, "1 medium ignored/bad"},
		"broken off": {errPlain, true, "1 medium ignored/canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got, _ := send(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				time.Sleep(5 * time.Second)
				if c.cancel {
					cancel()
				}
				_, err := r.Body.Read(make([]byte, 1))
				return nil, err
			}), request(ctx, http.MethodPost, iotest.ErrReader(c.source)))
			equal(t, name, got, c.want)
		})
	}
}

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
	r := request(t.Context(), http.MethodPost, broken{closing})
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

// Only bodies that may fail are wrapped. net/http sends the others in faster ways.
func TestBody_WrappedUploads(t *testing.T) {
	file := throttle.Must(os.Open(os.DevNull))
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
