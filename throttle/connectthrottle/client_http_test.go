package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// TestHTTP has httpthrottle on both sides in place of this package. It sees only HTTP: the code of a stream of Connect is in the body.
func TestHTTP(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for code, want := range map[connect.Code]string{
			0: "1 accepted/none", connect.CodeUnavailable: "1 rejected/availability", connect.CodeResourceExhausted: "1 rejected/quota",
			connect.CodeNotFound: "1 accepted/missing", connect.CodeInternal: "1 accepted/other", connect.CodeCanceled: "1 ignored/canceled",
		} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			serve := sold
			if code != 0 {
				serve = fails(connect.NewError(code, errors.New("as you wish")))
			}
			if code == connect.CodeCanceled {
				serve = func(ctx context.Context, _ http.Header, _ func(string) error) error {
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}
			}
			server := throttle.Must(throttle.New(throttle.Config{Name: "server"}))
			p := open(t, httpthrottle.Middleware(server, httpthrottle.MiddlewareConfig{})(handle(serve)), protocol)
			transport := throttle.Must(httpthrottle.NewTransport(p.http.Transport, httpthrottle.TransportConfig{Throttle: throttle.Config{Name: "client"}}))
			p.http.Transport = transport
			if err := p.call(ctx, procedure); code == 0 && err != nil || code != 0 && connect.CodeOf(err) != code {
				t.Errorf("got %v want %v", err, code)
			}
			synctest.Wait()
			if strings.Contains(t.Name(), "/Connect/") && procedure != buy && code != connect.CodeCanceled {
				want = "1 accepted/none"
			}
			counts(t, "client", member(t, transport.Group(), host), want)
			counts(t, "server", server, want)
		}
	})
}
