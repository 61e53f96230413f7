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
