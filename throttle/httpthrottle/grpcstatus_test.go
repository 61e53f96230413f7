package httpthrottle_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

type grpcCase struct {
	fields http.Header
	want   string
	full   uint64 // rejections of a full server
}

func grpcCases() map[string]grpcCase {
	code := func(code string) http.Header { return http.Header{"Grpc-Status": {code}} }
	delayed := func(ms string) http.Header { return http.Header{"Grpc-Status": {"14"}, "Grpc-Retry-Pushback-Ms": {ms}} }
	return map[string]grpcCase{
		"OK": {code("0"), "accepted/none", 0}, "canceled": {code("1"), "ignored/canceled", 0}, "not found": {code("5"), "accepted/missing", 0},
		"exhausted": {code("8"), "rejected/quota", 1}, "unavailable": {code("14"), "rejected/availability", 0},
		"pushback": {delayed("1500"), "rejected/availability", 1}, "retry at once": {delayed("0"), "rejected/availability", 0},
		"unknown": {code("4294967295"), "accepted/other", 0}, "negative": {code("-1"), "accepted/none", 0},
		"not a number": {code("many"), "accepted/none", 0}, "none": {http.Header{}, "accepted/none", 0},
	}
}

// grpcResponse is a response of gRPC. Net/http fills its trailer when the body has been read.
func grpcResponse(header, trailer http.Header, body string) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		res := &http.Response{StatusCode: http.StatusOK, Header: header.Clone()}
		res.Header.Set("Content-Type", "application/grpc+proto")
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), atEnd(func() { res.Trailer = trailer })))
		return res, nil
	}
}

type atEnd func()

func (f atEnd) Read([]byte) (int, error) { f(); return 0, io.EOF }

func TestTransport_GRPC(t *testing.T) {
	for name, c := range grpcCases() {
		for where, base := range map[string]roundTrip{
			"header": grpcResponse(c.fields, nil, ""), "trailer": grpcResponse(http.Header{}, c.fields, ""),
		} {
			transport := newTransport(t, base, httpthrottle.TransportConfig{})
			read(t, transport, get(t.Context()))
			th := throttleOf(t, transport, host)
			equal(t, name+" in the "+where, books(th), "1 medium "+c.want)
			equal(t, name+" in the "+where+": full", fullOf(th), c.full)
		}
		transport := newTransport(t, grpcResponse(http.Header{}, c.fields, "message"), httpthrottle.TransportConfig{})
		read(t, transport, get(t.Context()))
		equal(t, name+" after a message", books(throttleOf(t, transport, host)), "1 medium accepted/none")
	}
}

// The case of a media type does not matter, and another type that begins alike is not gRPC.
func TestTransport_GRPC_mediaTypes(t *testing.T) {
	for kind, want := range map[string]string{
		"application/grpc": "rejected/availability", "application/grpc+proto": "rejected/availability",
		"Application/gRPC": "rejected/availability", "application/grpc ; charset=utf-8": "rejected/availability",
		"application/grpc-web+proto": "rejected/availability", "application/grpc-web-text": "rejected/availability",
		"application/grpcfoo": "accepted/none", "application/grpc-website": "accepted/none", "application/json": "accepted/none",
	} {
		base := grpcResponse(http.Header{"Grpc-Status": {"14"}}, nil, "")
		transport := newTransport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			res, err := base(r)
			res.Header.Set("Content-Type", kind)
			return res, err
		}), httpthrottle.TransportConfig{})
		read(t, transport, get(t.Context()))
		equal(t, kind, books(throttleOf(t, transport, host)), "1 medium "+want)
	}
}

func TestTransport_GRPC_end(t *testing.T) {
	for name, c := range map[string]struct {
		base roundTrip
		want string
	}{
		"closed before the first message": {grpcResponse(http.Header{}, nil, "message"), "1 medium ignored/canceled"},
		"too large": {
			grpcResponse(http.Header{"Grpc-Status": {"8"}, "Grpc-Message": {"grpc: received message larger than max (5 vs. 4)"}}, nil, ""),
			"1 medium accepted/bad",
		},
	} {
		transport := newTransport(t, c.base, httpthrottle.TransportConfig{})
		_ = ask(t, transport, get(t.Context())).Body.Close()
		equal(t, name, books(throttleOf(t, transport, host)), c.want)
	}
}

// A connection that breaks before the code is known counts as one that breaks before the response.
func TestTransport_GRPC_breaks(t *testing.T) {
	for name, c := range map[string]struct {
		body io.Reader
		want string
	}{
		"at once":         {iotest.ErrReader(io.ErrUnexpectedEOF), "1 medium rejected/availability"},
		"after a message": {io.MultiReader(strings.NewReader("message"), iotest.ErrReader(io.ErrUnexpectedEOF)), "1 medium accepted/none"},
	} {
		transport := newTransport(t, roundTrip(func(*http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"application/grpc"}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(c.body)}, nil
		}), httpthrottle.TransportConfig{})
		_, err := io.ReadAll(ask(t, transport, get(t.Context())).Body)
		equal(t, name+": error", err, io.ErrUnexpectedEOF)
		equal(t, name, books(throttleOf(t, transport, host)), c.want)
	}
}

// The throttle also judges the trailer with the Answer of the config, and survives its panic.
func TestTransport_GRPC_answer(t *testing.T) {
	answer := func(r *http.Response) error {
		if r.Trailer != nil {
			panic("trailer")
		}
		return nil
	}
	transport := newTransport(t, grpcResponse(http.Header{}, http.Header{"Grpc-Status": {"14"}}, ""), httpthrottle.TransportConfig{Answer: answer})
	res := ask(t, transport, get(t.Context()))
	equal(t, "panic", panics(func() { _, _ = io.ReadAll(res.Body) }), any("trailer"))
	equal(t, "books", books(throttleOf(t, transport, host)), "1 medium ignored/panic")
}

func TestMiddleware_GRPC(t *testing.T) {
	for name, c := range grpcCases() {
		for where, write := range map[string]func(w http.ResponseWriter, set func(prefix string)){
			"header":          func(_ http.ResponseWriter, set func(string)) { set("") },
			"header, written": func(w http.ResponseWriter, set func(string)) { set(""); w.WriteHeader(http.StatusOK) },
			"announced trailer": func(w http.ResponseWriter, set func(string)) {
				w.Header().Set("Trailer", "Grpc-Status")
				w.(http.Flusher).Flush()
				set("")
			},
			"trailer with a prefix": func(w http.ResponseWriter, set func(string)) {
				w.WriteHeader(http.StatusOK)
				set(http.TrailerPrefix)
			},
			"after a message": func(w http.ResponseWriter, set func(string)) {
				_, _ = w.Write([]byte("message"))
				set(http.TrailerPrefix)
			},
		} {
			th := newThrottle(t, throttle.Config{})
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				write(w, func(prefix string) {
					for field, values := range c.fields {
						w.Header()[prefix+field] = values
					}
				})
			})
			want, full := c.want, c.full
			if where == "after a message" {
				want, full = "accepted/none", 0
			}
			equal(t, name+", "+where, books(th), "1 medium "+want)
			equal(t, name+", "+where+": full", fullOf(th), full)
		}
	}
}

// A proxy that repeats the code of a backend has capacity itself.
func TestMiddleware_GRPC_dependency(t *testing.T) {
	th := newThrottle(t, throttle.Config{})
	transport := newTransport(t, grpcResponse(http.Header{}, http.Header{"Grpc-Status": {"14"}}, ""), httpthrottle.TransportConfig{})
	served(th, httpthrottle.MiddlewareConfig{}, incoming(context.Background()), func(w http.ResponseWriter, r *http.Request) {
		read(t, transport, get(r.Context()))
		w.Header().Set("Content-Type", "application/grpc")
		w.WriteHeader(http.StatusOK)
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "14")
	})
	equal(t, "books", books(th), "1 medium ignored/availability")
}
