package connectthrottle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func TestClient_Shed(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for _, own := range []error{nil, connect.NewError(connect.CodeAborted, errors.New("later"))} { // Config.ShedErr
			p := setup{client: connectthrottle.ClientConfig{Throttle: throttle.Config{Rand: always, ShedErr: own}}}.open(t, protocol)
			spoil(t, p.client.Group(), host)
			err := p.call(t.Context(), procedure)
			if p.server.Group().Len() != 0 {
				t.Error("got a call: it was shed")
			}
			if own != nil {
				if connect.CodeOf(err) != connect.CodeAborted || !errors.Is(err, throttle.ErrShed) {
					t.Errorf("got %v want Aborted, and a shed", err)
				}
				continue
			}
			wantShed(t, err, time.Second, "1")
			var shed *throttle.ShedError
			if !errors.As(err, &shed) || shed.Key != host || !strings.Contains(err.Error(), host) {
				t.Errorf("got %v want a ShedError for %s", err, host)
			}
			var temporary interface{ Temporary() bool }
			if !errors.As(err, &temporary) || temporary.Temporary() {
				t.Errorf("got %v want an error that is not temporary", err)
			}
		}
	})
}

func TestClient_NotMade(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		p := setup{client: connectthrottle.ClientConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}}}.open(t, protocol)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		for code, ctx := range map[connect.Code]context.Context{
			connect.CodeCanceled: canceled, connect.CodeDeadlineExceeded: late, connect.CodeInternal: throttle.WithPriority(t.Context(), 15),
		} {
			if err := p.call(ctx, procedure); connect.CodeOf(err) != code {
				t.Errorf("got %v want %v", err, code)
			}
		}
		counts(t, "none made", member(t, p.client.Group(), host), "")
	})
}

// TestClose makes and serves calls without throttles, which still do not send a priority, and convert faults.
func TestClose(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		p := setup{serve: func(_ context.Context, h http.Header, _ func(string) error) error {
			return fmt.Errorf("%w, priority %q", faults.NotFound, h.Get(connectthrottle.PriorityHeader))
		}}.open(t, protocol)
		must(t, errors.Join(p.client.Close(), p.client.Close(), p.server.Close(), p.server.Close()))
		err := p.call(throttle.WithPriority(t.Context(), throttle.Low), procedure)
		if connect.CodeOf(err) != connect.CodeNotFound || !strings.HasSuffix(err.Error(), `priority ""`) {
			t.Errorf("got %v want NotFound, and no priority", err)
		}
	})
}

// The context of the Started hook goes on to the handler, and to the transport, also from one client through another.
func TestHooks(t *testing.T) {
	type hooked string
	start := func(by hooked) throttle.Config {
		return throttle.Config{Name: string(by), Hooks: throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
			return context.WithValue(ctx, by, true)
		}}}
	}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		inner := throttle.Must(connectthrottle.NewClient(connectthrottle.ClientConfig{Throttle: start("inner")}))
		p := setup{
			client: connectthrottle.ClientConfig{Throttle: start("outer")}, server: connectthrottle.ServerConfig{Throttle: start("server")},
			serve: func(ctx context.Context, _ http.Header, _ func(string) error) error {
				if ctx.Value(hooked("server")) != true {
					t.Error("server: got no value of the hook")
				}
				return nil
			},
		}.open(t, protocol)
		p.options = append(p.options, connect.WithInterceptors(inner.Interceptor()))
		transport := p.http.Transport
		p.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Context().Value(hooked("outer")) != true || r.Context().Value(hooked("inner")) != true {
				t.Error("client: got no value of both hooks")
			}
			return transport.RoundTrip(r)
		})
		must(t, p.call(t.Context(), procedure))
	})
}

// TestOtherSide passes calls of the other side through: some programs share options.
func TestOtherSide(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		client := throttle.Must(connectthrottle.NewClient(connectthrottle.ClientConfig{Throttle: throttle.Config{Name: "client"}}))
		server := throttle.Must(connectthrottle.NewServer(connectthrottle.ServerConfig{Throttle: throttle.Config{Name: "server"}}))
		p := open(t, handle(sold, connect.WithInterceptors(client.Interceptor())), protocol, connect.WithInterceptors(server.Interceptor()))
		must(t, p.call(t.Context(), procedure))
		if client.Group().Len() != 0 || server.Group().Len() != 0 {
			t.Errorf("got %d and %d throttles want none", client.Group().Len(), server.Group().Len())
		}
	})
}

func TestConfig_errors(t *testing.T) {
	_, client := connectthrottle.NewClient(connectthrottle.ClientConfig{Group: throttle.GroupConfig{Max: -1}})
	_, server := connectthrottle.NewServer(connectthrottle.ServerConfig{
		Group: throttle.GroupConfig{Max: -1}, RetryAfter: 2 * time.Hour, Trust: throttle.Trust{Ceiling: -1},
	})
	for want, err := range map[string]error{
		"connectthrottle: ClientConfig.Throttle": client, "ClientConfig.Group": client,
		"connectthrottle: ServerConfig.Throttle": server, "ServerConfig.Group": server, "ServerConfig.Trust.Ceiling": server,
		"ServerConfig.RetryAfter is 2h0m0s: want 0s to 1h0m0s": server,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want %s in it", err, want)
		}
	}
}

func TestNilAndZero(t *testing.T) {
	var client *connectthrottle.Client
	var server *connectthrottle.Server
	for _, c := range []interface {
		Close() error
		Group() *throttle.Group
	}{client, new(connectthrottle.Client), server, new(connectthrottle.Server)} {
		if err := c.Close(); err != nil || c.Group().Len() != 0 {
			t.Errorf("got error %v want nothing to close", err)
		}
	}
	for name, build := range map[string]func(){
		"nil client": func() { client.Interceptor() }, "zero client": func() { new(connectthrottle.Client).Interceptor() },
		"zero server": func() { new(connectthrottle.Server).Interceptor() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: got no panic", name)
				}
			}()
			build()
		}()
	}
}

func waiting(ctx context.Context, _ http.Header, send func(string) error) error {
	if err := send("pear"); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// onStreams runs a test with a stream of each protocol.
func onStreams(t *testing.T, test func(t *testing.T, p *place, s *connect.BidiStreamForClient[text, text], cancel func())) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := setup{client: connectthrottle.ClientConfig{Throttle: throttle.Config{Rand: always}}, serve: waiting}.open(t, protocol)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				test(t, p, p.dial(talk).CallBidiStream(ctx), cancel)
			})
		})
	}
}

func TestClientStream_InFlight(t *testing.T) {
	type stream = *connect.BidiStreamForClient[text, text]
	for name, end := range map[string]func(s stream, cancel func()){
		"canceled":            func(_ stream, cancel func()) { cancel() },
		"closed":              func(s stream, _ func()) { _ = s.CloseResponse() },
		"canceled, then read": func(s stream, cancel func()) { cancel(); _, _ = s.Receive() },
	} {
		for _, answered := range []bool{false, true} {
			onStreams(t, func(t *testing.T, p *place, s stream, cancel func()) {
				if p.client.Group().Len() != 0 {
					t.Error("got a call before its first use")
				}
				must(t, s.Send(wrapperspb.String("pear")))
				synctest.Wait()
				th, want := member(t, p.client.Group(), host), "1 ignored/canceled"
				counts(t, "sent", th, "1 in flight")
				if answered {
					_, err := s.Receive()
					must(t, err)
					counts(t, "received", th, "1 accepted/none, 1 in flight")
					want = "1 accepted/none"
				}
				end(s, cancel)
				synctest.Wait()
				counts(t, name, th, want)
			})
		}
	}
}

// TestClientStream_ReadFirst reads a stream before it is used. If the stream is then shed, the reader must not wait.
func TestClientStream_ReadFirst(t *testing.T) {
	for _, shed := range []bool{false, true} {
		onStreams(t, func(t *testing.T, p *place, s *connect.BidiStreamForClient[text, text], _ func()) {
			if shed {
				spoil(t, p.client.Group(), host)
			}
			read := make(chan error)
			go func() {
				_, err := s.Receive()
				read <- err
			}()
			synctest.Wait()
			sent := s.Send(wrapperspb.String("pear"))
			if err := <-read; errors.Is(sent, throttle.ErrShed) != shed || errors.Is(err, throttle.ErrShed) != shed {
				t.Errorf("got %v and %v want a shed: %v", sent, err, shed)
			}
			if shed && (len(s.ResponseHeader()) != 0 || len(s.ResponseTrailer()) != 0 || s.CloseRequest() == nil || s.CloseResponse() != nil) {
				t.Error("got a header of a call that was not made")
			}
		})
	}
}

func TestClientStream_NeverUsed(t *testing.T) {
	onStreams(t, func(t *testing.T, p *place, s *connect.BidiStreamForClient[text, text], cancel func()) {
		time.AfterFunc(time.Second, cancel)
		if _, err := s.Receive(); connect.CodeOf(err) != connect.CodeCanceled {
			t.Errorf("got %v want Canceled", err)
		}
		if got := s.CloseResponse(); got != nil || p.client.Group().Len() != 0 {
			t.Errorf("got %v and %d throttles want none", got, p.client.Group().Len())
		}
	})
}
