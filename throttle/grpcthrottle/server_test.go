package grpcthrottle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// TestServerAnswers sends the faults of handlers to the caller, counts them, and lets interceptors
// further out see them.
func TestServerAnswers(t *testing.T) {
	marked := throttle.MarkRejected(status.Error(codes.Aborted, "too many at once"))
	accepted, rejected := tally{accepted: 1}, tally{rejected: 1}
	for _, tt := range []struct {
		own   error
		want  string
		tally tally
	}{
		{faults.NotFound, "rpc error: code = NotFound desc = " + faults.NotFound.Error(), accepted},
		{faults.Unavailable(time.Minute), "rpc error: code = Unavailable desc = " + faults.Unavailable(time.Minute).Error(), rejected},
		{errors.New("plain"), "rpc error: code = Unknown desc = plain", accepted},
		{status.Error(codes.DataLoss, "gr"), "rpc error: code = DataLoss desc = gr", accepted},
		{marked, "rpc error: code = Aborted desc = too many at once", rejected},
	} {
		server := newServer(t, grpcthrottle.ServerConfig{})
		for method, call := range serverCalls(server) {
			err := call(t.Context(), func(context.Context) error { return tt.own })
			if got := status.Convert(err).Err().Error(); got != tt.want { // as it travels
				t.Errorf("%s: got %q want %q", method, got, tt.want)
			}
			if !errors.Is(err, tt.own) && !errors.Is(tt.own, marked) {
				t.Errorf("%s: an outer interceptor gets %v want %v in it", method, err, tt.own)
			}
			wants(t, method+": "+tt.want, member(t, server.Group(), method), tt.tally)
		}
	}
}

// If the first message cannot be sent, it does not count as an answer: gRPC has ended the stream.
func TestServerSendFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{})
		p := open(t, &shop{stream: func(_ string, ss grpc.ServerStream) error {
			if err := ss.SendMsg("no message"); err == nil {
				t.Error("got no error of sending what is no message")
			}
			return faults.Unavailable(0)
		}}, server.ServerOptions())
		if err := p.converse(t.Context(), talk); status.Code(err) != codes.Internal {
			t.Errorf("got %v want Internal", err)
		}
		synctest.Wait()
		wants(t, "nothing sent", member(t, server.Group(), talk), tally{ignored: 1})
	})
}

// A panic continues, and its call is ignored whatever Classify returns.
func TestServer_panic(t *testing.T) {
	server := newServer(t, grpcthrottle.ServerConfig{Throttle: throttle.Config{Classify: throttle.RejectIf(func(error) bool { return true })}})
	for method, call := range serverCalls(server) {
		got := recovered(func() { _ = call(t.Context(), func(context.Context) error { panic("boom") }) })
		if ended := endedOf(member(t, server.Group(), method)); got != "boom" || ended != "1 ignored/panic" {
			t.Errorf("%s: got panic %v, counted %s want boom, and a panic that is ignored", method, got, ended)
		}
	}
}

func TestServer_Key(t *testing.T) {
	var asked []grpcthrottle.RPC
	server := newServer(t, grpcthrottle.ServerConfig{Key: func(_ context.Context, rpc grpcthrottle.RPC) string {
		asked = append(asked, rpc)
		return "all"
	}})
	for _, method := range []string{buy, talk} {
		must(t, serverCalls(server)[method](t.Context(), func(context.Context) error { return nil }))
	}
	wants(t, "both", member(t, server.Group(), "all"), tally{accepted: 2})
	if want := []grpcthrottle.RPC{{Method: buy}, {Method: talk, Stream: true}}; !slices.Equal(asked, want) {
		t.Errorf("asked about %v want %v", asked, want)
	}
}

// Exempt calls are served whatever the throttle decides: by default those of the health service. After Close
// all calls are served.
func TestServer_Exempt(t *testing.T) {
	for method, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := grpcthrottle.HealthCheck(t.Context(), grpcthrottle.RPC{Method: method}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", method, got, want)
		}
	}
	server := newServer(t, grpcthrottle.ServerConfig{
		Throttle: throttle.Config{Rand: always}, Exempt: func(_ context.Context, rpc grpcthrottle.RPC) bool { return rpc.Method != talk },
		Key: func(context.Context, grpcthrottle.RPC) string { return "all" },
	})
	th := throttle.Must(server.Group().Get("all"))
	spoil(t, th, throttle.Medium)
	serve := func(context.Context) error { return nil }
	want := tallyOf(th)
	want.shed++
	for method, call := range serverCalls(server) {
		if err := call(t.Context(), serve); errors.Is(err, throttle.ErrShed) != (method == talk) {
			t.Errorf("%s: got %v", method, err)
		}
	}
	must(t, server.Close())
	for _, call := range serverCalls(server) {
		must(t, call(t.Context(), serve))
	}
	wants(t, "one call shed", th, want)
	if got := th.Stats().Exempt; got != 2 {
		t.Errorf("got %d exempt calls want 2", got)
	}
}
