package httpthrottle_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// grpcCodes are some codes of gRPC, and how a throttle counts them.
var grpcCodes = map[string]string{
	"0": "accepted/none", "1": "ignored/canceled", "5": "accepted/missing", "8": "rejected/quota", "14": "rejected/availability",
	"4294967295": "accepted/other", "-1": "accepted/none", "many": "accepted/none",
}

// fullCodes are the fields of a gRPC call that say whether the server is full.
func fullCodes() map[string]struct {
	fields http.Header
	want   string
} {
	return map[string]struct {
		fields http.Header
		want   string
	}{
		"unavailable":   {http.Header{"Grpc-Status": {"14"}}, "1 rejected, 0 full"},
		"pushback":      {http.Header{"Grpc-Status": {"14"}, "Grpc-Retry-Pushback-Ms": {"1500"}}, "1 rejected, 1 full"},
		"retry at once": {http.Header{"Grpc-Status": {"14"}, "Grpc-Retry-Pushback-Ms": {"0"}}, "1 rejected, 0 full"},
		"exhausted":     {http.Header{"Grpc-Status": {"8"}}, "1 rejected, 1 full"},
	}
}

// The fields are in the header or in the trailer, of a call that a client makes or that a handler answers.
func TestGRPC_overloaded(t *testing.T) {
	for name, c := range fullCodes() {
		for where, base := range map[string]roundTrip{
			"header": grpcResponse(c.fields, nil, ""), "trailer": grpcResponse(http.Header{}, c.fields, ""),
		} {
			transport := newTransport(t, base, httpthrottle.TransportConfig{})
			read(t, transport, get(t.Context()))
			equal(t, name+" in the "+where, fullness(throttleOf(t, transport, host)), c.want)
		}
		for where, prefix := range map[string]string{"header": "", "trailer": http.TrailerPrefix} {
			th := newThrottle(t, throttle.Config{})
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				for field, values := range c.fields {
					w.Header()[prefix+field] = values
				}
				w.WriteHeader(http.StatusOK)
			})
			equal(t, name+" of a handler, in the "+where, fullness(th), c.want)
		}
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

// atEnd is an empty reader.
type atEnd func()

func (f atEnd) Read([]byte) (int, error) { f(); return 0, io.EOF }

func TestTransport_GRPC(t *testing.T) {
	for code, want := range grpcCodes {
		status := http.Header{"Grpc-Status": {code}}
		for where, base := range map[string]roundTrip{
			"header": grpcResponse(status, nil, ""), "trailer": grpcResponse(http.Header{}, status, ""),
		} {
			transport := newTransport(t, base, httpthrottle.TransportConfig{})
			read(t, transport, get(t.Context()))
			equal(t, code+" in the "+where, books(throttleOf(t, transport, host)), "1 medium "+want)
		}
		transport := newTransport(t, grpcResponse(http.Header{}, status, "message"), httpthrottle.TransportConfig{})
		read(t, transport, get(t.Context()))
		equal(t, code+" after a message", books(throttleOf(t, transport, host)), "1 medium accepted/none")
	}
}

func TestTransport_GRPC_end(t *testing.T) {
	for name, c := range map[string]struct {
		base roundTrip
		end  func(*http.Response)
		want string
	}{
		"closed before the first message": {grpcResponse(http.Header{}, nil, "message"), func(*http.Response) {}, "1 medium ignored/canceled"},
		"no code":                         {grpcResponse(http.Header{}, nil, ""), func(r *http.Response) { _, _ = io.ReadAll(r.Body) }, "1 medium accepted/none"},
		"too large": {
			grpcResponse(http.Header{"Grpc-Status": {"8"}, "Grpc-Message": {"grpc: received message larger than max (5 vs. 4)"}}, nil, ""),
			func(*http.Response) {}, "1 medium accepted/bad",
		},
	} {
		transport := newTransport(t, c.base, httpthrottle.TransportConfig{})
		res := ask(t, transport, get(t.Context()))
		c.end(res)
		_ = res.Body.Close()
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
	for code, want := range grpcCodes {
		for name, c := range map[string]struct {
			handler http.HandlerFunc
			want    string
		}{
			"header": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", code) }, want},
			"header, written": {func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Grpc-Status", code)
				w.WriteHeader(http.StatusOK)
			}, want},
			"announced trailer": {func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "Grpc-Status")
				w.(http.Flusher).Flush()
				w.Header().Set("Grpc-Status", code)
			}, want},
			"trailer with a prefix": {func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusOK)
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", code)
			}, want},
			"after a message": {func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("message"))
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", code)
			}, "accepted/none"},
		} {
			th := newThrottle(t, throttle.Config{})
			served(th, httpthrottle.MiddlewareConfig{}, incoming(t.Context()), func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				c.handler(w, r)
			})
			equal(t, code+", "+name, books(th), "1 medium "+c.want)
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
