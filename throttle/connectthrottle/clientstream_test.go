package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func waiting(ctx context.Context, _ http.Header, send func(string) error) error {
	if err := send("pear"); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestClientStream_InFlight(t *testing.T) {
	for name, end := range map[string]func(s *connect.BidiStreamForClient[text, text], cancel func()){
		"canceled":            func(_ *connect.BidiStreamForClient[text, text], cancel func()) { cancel() },
		"closed":              func(s *connect.BidiStreamForClient[text, text], _ func()) { _ = s.CloseResponse() },
		"canceled, then read": func(s *connect.BidiStreamForClient[text, text], cancel func()) { cancel(); _, _ = s.Receive() },
	} {
		for protocolName, protocol := range protocols {
			for _, answered := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					client, calling := newClient(t, connectthrottle.ClientConfig{})
					p := open(t, handle(waiting), protocol, calling)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s := p.dial(talk).CallBidiStream(ctx)
					if client.Group().Len() != 0 {
						t.Error("got a call before its first use")
					}
					must(t, s.Send(wrapperspb.String("pear")))
					synctest.Wait()
					th, want := member(t, client.Group(), host), tally{inFlight: 1}
					wants(t, "sent", th, want)
					if answered {
						_, err := s.Receive()
						must(t, err)
						want.accepted = 1
						wants(t, "received", th, want)
					}
					end(s, cancel)
					synctest.Wait()
					want.inFlight = 0
					if !answered {
						want.ignored = 1
					}
					wants(t, protocolName+" "+name, th, want)
				})
			}
		}
	}
}

// TestClientStream_ReadFirst reads a stream before it is used. If the stream is then shed, the reader must not wait.
func TestClientStream_ReadFirst(t *testing.T) {
	for _, shed := range []bool{false, true} {
		for name, protocol := range protocols {
			synctest.Test(t, func(t *testing.T) {
				client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Rand: always}})
				p := open(t, handle(waiting), protocol, calling)
				if shed {
					spoil(t, client.Group(), host)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := p.dial(talk).CallBidiStream(ctx)
				read := make(chan error)
				go func() {
					_, err := s.Receive()
					read <- err
				}()
				synctest.Wait()
				sent := s.Send(wrapperspb.String("pear"))
				if err := <-read; errors.Is(sent, throttle.ErrShed) != shed || errors.Is(err, throttle.ErrShed) != shed {
					t.Errorf("%s: got %v and %v want a shed: %v", name, sent, err, shed)
				}
				if shed && (len(s.ResponseHeader()) != 0 || len(s.ResponseTrailer()) != 0 || s.CloseRequest() == nil || s.CloseResponse() != nil) {
					t.Errorf("%s: got a header of a call that was not made", name)
				}
			})
		}
	}
}

func TestClientStream_NeverUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, calling := newClient(t, connectthrottle.ClientConfig{})
		p := open(t, handle(waiting), calling)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := p.dial(talk).CallBidiStream(ctx)
		if _, err := s.Receive(); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("got %v want DeadlineExceeded", err)
		}
		if got := s.CloseResponse(); got != nil || client.Group().Len() != 0 {
			t.Errorf("got %v and %d throttles want none", got, client.Group().Len())
		}
	})
}

// TestClientStream_HookOfHook hands on the values of contexts in contexts: there is no endless search.
func TestClientStream_HookOfHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, outer := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Hooks: startHook()}})
		_, inner := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Hooks: startHook()}})
		p := open(t, handle(sold), outer, inner)
		p.client.Transport = asking{p.client.Transport, t}
		ctx, info := connect.NewClientContext(t.Context())
		s, err := p.dial(talk).CallBidiStreamSimple(ctx)
		must(t, err)
		must(t, s.CloseRequest())
		if _, err := s.Receive(); !isEOF(err) {
			t.Errorf("got %v want EOF", err)
		}
		if got := info.Peer().Addr; got != host {
			t.Errorf("got peer %q want %q", got, host)
		}
	})
}

// TestSlow: the first message is what counts, on both sides. A stream may go on for any time.
func TestSlow(t *testing.T) {
	slowly := throttle.Config{Slow: 100 * time.Millisecond}
	for wait, late := range map[time.Duration]uint64{50 * time.Millisecond: 0, time.Second: 1} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: slowly})
			server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: slowly})
			p := open(t, handle(func(_ context.Context, _ http.Header, send func(string) error) error {
				time.Sleep(wait)
				if err := send("pear"); err != nil || procedure == buy || procedure == fill {
					return err
				}
				time.Sleep(time.Minute)
				return send("apple")
			}, serving), protocol, calling)
			must(t, p.call(t.Context(), procedure))
			synctest.Wait()
			for _, th := range []*throttle.Throttle{member(t, client.Group(), host), member(t, server.Group(), procedure)} {
				if got := th.Stats().Priorities[throttle.Medium].Slow.Late; got != late {
					t.Errorf("%s, %v until the message: got %d late calls want %d", th.Name(), wait, got, late)
				}
			}
		})
	}
}
