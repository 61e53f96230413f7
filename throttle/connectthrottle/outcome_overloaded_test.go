package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// overloaded returns how many rejections of a throttle were those of a full backend.
func overloaded(th *throttle.Throttle) (n uint64) {
	for _, p := range th.Stats().Priorities {
		n += p.Overloaded
	}
	return n
}

// coded returns the error of a handler, with metadata.
func coded(code connect.Code, text string, meta ...string) *connect.Error {
	err := connect.NewError(code, errors.New(text))
	for i := 0; i < len(meta); i += 2 {
		err.Meta().Set(meta[i], meta[i+1])
	}
	return err
}

// Which answers say that a server is full, to the client and to the throttle of the server itself, which
// does not read the metadata of an error.
func TestOutcome_overloaded(t *testing.T) {
	info := coded(connect.CodeUnavailable, "busy")
	detail, err := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	must(t, err)
	info.AddDetail(detail)
	answers := map[string]struct {
		err                      error
		rejected, client, server uint64
	}{
		"unavailable":        {coded(connect.CodeUnavailable, "busy"), 1, 0, 0},
		"RetryInfo":          {info, 1, 1, 1},
		"fault with a delay": {faults.Unavailable(time.Second), 1, 1, 1},
		"Retry-After":        {coded(connect.CodeUnavailable, "busy", "Retry-After", "7"), 1, 1, 0},
		"pushback":           {coded(connect.CodeUnavailable, "busy", "Grpc-Retry-Pushback-Ms", "1500"), 1, 1, 0},
		"retry at once":      {coded(connect.CodeUnavailable, "busy", "Grpc-Retry-Pushback-Ms", "0"), 1, 0, 0},
		"exhausted":          {coded(connect.CodeResourceExhausted, "quota"), 1, 1, 1},
		"too large":          {coded(connect.CodeResourceExhausted, "message size 5 exceeds sendMaxBytes 4"), 0, 0, 0},
		"deadline":           {coded(connect.CodeDeadlineExceeded, "late"), 1, 0, 0},
	}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for name, c := range answers {
			client, calling := newClient(t, connectthrottle.ClientConfig{})
			server, serving := newServer(t, connectthrottle.ServerConfig{})
			p := open(t, handle(func(context.Context, http.Header, func(string) error) error { return c.err }, serving), protocol, calling)
			_ = p.call(t.Context(), procedure)
			near, far := member(t, client.Group(), host), member(t, server.Group(), procedure)
			if made, served := tallyOf(near).rejected, tallyOf(far).rejected; made != c.rejected || served != c.rejected {
				t.Errorf("%s: got %d rejected, and %d on the server, want %d", name, made, served, c.rejected)
			}
			if made, served := overloaded(near), overloaded(far); made != c.client || served != c.server {
				t.Errorf("%s: got %d overloaded, and %d on the server, want %d, %d", name, made, served, c.client, c.server)
			}
		}
	})
}
