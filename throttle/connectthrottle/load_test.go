package connectthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

type rpcs = func(context.Context, connectthrottle.RPC) bool

func answersRPC(yes bool) rpcs { return func(context.Context, connectthrottle.RPC) bool { return yes } }

// TestListen has servers that are calm, that shed the call, or whose handler fails, and clients that listen.
func TestListen(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		tells, listens := connectthrottle.ServerConfig{Tell: answersRPC(true)}, answersRPC(true)
		trusts := connectthrottle.ServerConfig{Trust: throttle.Trust{Peer: func(context.Context) bool { return true }}}
		for name, c := range map[string]struct {
			serve     handler
			shedding  bool
			tell      connectthrottle.ServerConfig
			listen    rpcs
			calm, bad bool // what the client receives
		}{
			"calm":      {serve: sold, tell: tells, listen: listens, calm: true},
			"fails":     {serve: fails(connect.NewError(connect.CodeNotFound, errors.New("no pears"))), tell: tells, listen: listens, calm: true},
			"silent":    {serve: fails(nil), tell: tells, listen: listens, calm: true},
			"sheds":     {serve: sold, tell: tells, listen: listens, shedding: true, bad: true},
			"trusted":   {serve: sold, tell: trusts, listen: listens, calm: true},
			"default":   {serve: sold, listen: listens},
			"Tell not":  {serve: sold, tell: connectthrottle.ServerConfig{Tell: answersRPC(false)}, listen: listens},
			"deaf":      {serve: sold, tell: tells, shedding: true},
			"forbidden": {serve: sold, tell: tells, listen: answersRPC(false), shedding: true},
			"exempt":    {serve: sold, tell: connectthrottle.ServerConfig{Tell: answersRPC(true), Exempt: answersRPC(true)}, listen: listens},
		} {
			c.tell.Throttle.Rand = always
			p := setup{connectthrottle.ClientConfig{Listen: c.listen}, c.tell, c.serve, nil}.open(t, protocol)
			if c.shedding {
				spoil(t, p.server.Group(), procedure)
			}
			err := p.call(t.Context(), procedure)
			if c.shedding != (connect.CodeOf(err) == connect.CodeUnavailable) {
				t.Errorf("%s: got error %v, want a shed: %v", name, err, c.shedding)
			}
			th := member(t, p.client.Group(), host)
			must(t, th.Tune(throttle.Patch{})) // a calm server counts from the next refresh of the decisions
			if s := th.Stats(); s.Received.Calm != c.calm || s.Received.Overloaded != c.bad || s.Priorities[throttle.Medium].Told > 0 != c.bad {
				t.Errorf("%s: received %+v, told %v", name, s.Received, s.Priorities[throttle.Medium].Told)
			}
		}
	})
}

// answerPanic answers in place of a handler that has panicked.
func answerPanic(context.Context, connect.Spec, http.Header, any) error {
	return connect.NewError(connect.CodeInternal, errors.New("an accident"))
}

// TestListen_once checks that each report counts once, wherever an error repeats the header or the trailer.
func TestListen_once(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for name, serve := range map[string]handler{
			"answers": sold,
			"silent":  fails(nil),
			"fails":   fails(connect.NewError(connect.CodeNotFound, errors.New("no pears"))),
			"panics":  func(context.Context, http.Header, func(string) error) error { panic("an accident") },
			"fails late": func(ctx context.Context, h http.Header, send func(string) error) error {
				return errors.Join(sold(ctx, h, send), connect.NewError(connect.CodeNotFound, errors.New("no more pears")))
			},
		} {
			received := 0
			listen := func(context.Context, connectthrottle.RPC) bool { received++; return true }
			tells := connectthrottle.ServerConfig{Tell: answersRPC(true)}
			_ = setup{connectthrottle.ClientConfig{Listen: listen}, tells, serve, []connect.HandlerOption{connect.WithRecover(answerPanic)}}.open(t, protocol).call(t.Context(), procedure)
			if received != 1 {
				t.Errorf("%s: got %d reports want 1", name, received)
			}
		}
	})
}

// TestServer_Tell_replaces has handlers that pass on what another server says.
func TestServer_Tell_replaces(t *testing.T) {
	server, err := connectthrottle.NewServer(connectthrottle.ServerConfig{
		Throttle: settled(throttle.Config{}, "server"), Tell: answersRPC(true),
	})
	must(t, err)
	passOn := func(header, trailer http.Header) {
		header.Add(protocol.LoadHeader, "TEXT named_metrics.spillway.overloaded=1")
		trailer.Add(protocol.LoadTrailer, "Qh4K")
	}
	response := func() (*connect.Response[text], error) {
		res := connect.NewResponse(new(text))
		passOn(res.Header(), res.Trailer())
		return res, nil
	}
	mux, option := http.NewServeMux(), connect.WithInterceptors(server.Interceptor())
	mux.Handle(buy, connect.NewUnaryHandler(buy, func(context.Context, *connect.Request[text]) (*connect.Response[text], error) {
		return response()
	}, option))
	mux.Handle(fill, connect.NewClientStreamHandler(fill, func(context.Context, *connect.ClientStream[text]) (*connect.Response[text], error) {
		return response()
	}, option))
	mux.Handle(browse, connect.NewServerStreamHandler(browse, func(_ context.Context, _ *connect.Request[text], s *connect.ServerStream[text]) error {
		passOn(s.ResponseHeader(), s.ResponseTrailer())
		return s.Send(new(text))
	}, option))
	mux.Handle(talk, connect.NewServerStreamHandler(talk, func(_ context.Context, _ *connect.Request[text], s *connect.ServerStream[text]) error {
		passOn(s.ResponseHeader(), s.ResponseTrailer())
		return nil
	}, option))
	for name, option := range protocols {
		p := open(t, mux, option)
		check := func(procedure string, headers, trailers http.Header) {
			t.Helper()
			header, trailer := headers.Values(protocol.LoadHeader), trailers.Values(protocol.LoadTrailer)
			want := "[] [Qh4KE3NwaWxsd2F5Lm92ZXJsb2FkZWQRAAAAAAAAAAA]"
			if len(header) == 1 {
				want = "[TEXT named_metrics.spillway.overloaded=0] []"
			}
			if fmt.Sprint(header, trailer) != want {
				t.Errorf("%s, %s: got header %q and trailer %q want one report, of this server", name, procedure, header, trailer)
			}
		}
		res, err := p.dial(buy).CallUnary(t.Context(), connect.NewRequest(new(text)))
		must(t, err)
		check(buy, res.Header(), res.Trailer())
		filled := p.dial(fill).CallClientStream(t.Context())
		res, err = filled.CloseAndReceive()
		must(t, err)
		check(fill, res.Header(), res.Trailer())
		for _, procedure := range []string{browse, talk} {
			s, err := p.dial(procedure).CallServerStream(t.Context(), connect.NewRequest(new(text)))
			must(t, err)
			for s.Receive() {
				continue
			}
			check(procedure, s.ResponseHeader(), s.ResponseTrailer())
			must(t, s.Close())
		}
	}
}

// TestServer_Tell_panics checks that a panic of Tell leaves no call in flight.
func TestServer_Tell_panics(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		tell := func(context.Context, connectthrottle.RPC) bool { panic(http.ErrAbortHandler) }
		p := setup{server: connectthrottle.ServerConfig{Tell: tell}, serve: sold}.open(t, protocol)
		_ = p.call(t.Context(), procedure)
		if n := member(t, p.server.Group(), procedure).Stats().Priorities[throttle.Medium].InFlight; n != 0 {
			t.Errorf("got %d calls in flight want 0", n)
		}
	})
}
