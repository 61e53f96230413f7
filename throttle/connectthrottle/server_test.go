package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

// wantShed checks the error that the caller of a shed call gets, and the error in it that connect sends.
func wantShed(t *testing.T, err error, delay time.Duration, retryAfter string) {
	t.Helper()
	var coded *connect.Error
	if !errors.As(err, &coded) || coded.Code() != connect.CodeUnavailable || coded.Message() != "throttle: call shed" || len(coded.Details()) != 1 {
		t.Fatalf("got %v want Unavailable: throttle: call shed, with one detail", coded)
	}
	detail, _ := coded.Details()[0].Value()
	if info, ok := detail.(*errdetails.RetryInfo); !ok || info.GetRetryDelay().AsDuration() != delay {
		t.Errorf("got detail %v want a RetryInfo of %v", detail, delay)
	}
	if after, pushback := coded.Meta().Get("Retry-After"), coded.Meta().Get("Grpc-Retry-Pushback-Ms"); after != retryAfter || pushback != "-1" {
		t.Errorf("got Retry-After %q, pushback %q want %q, -1", after, pushback, retryAfter)
	}
}

func TestServer_Shed(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for delay, retryAfter := range map[time.Duration]string{0: "1", time.Hour: "3600", 1500 * time.Millisecond: "2"} {
			p := setup{
				server: connectthrottle.ServerConfig{Throttle: throttle.Config{Rand: always}, RetryAfter: delay},
				serve:  fails(errors.New("got a call: it was shed")),
			}.open(t, protocol)
			spoil(t, p.server.Group(), procedure)
			wantShed(t, p.call(t.Context(), procedure), max(delay, time.Second), retryAfter)
		}
	})
}

// TestServer_InnerShed answers for a handler whose own call was shed, and ignores that.
func TestServer_InnerShed(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		backend := setup{client: connectthrottle.ClientConfig{Throttle: throttle.Config{Name: "secret", Rand: always}}}.open(t)
		spoil(t, backend.client.Group(), host)
		var outer error
		logging := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, req connect.AnyRequest) (res connect.AnyResponse, err error) {
				res, outer = next(ctx, req)
				return res, outer
			}
		}))
		p := setup{
			server: connectthrottle.ServerConfig{RetryAfter: time.Minute}, outer: []connect.HandlerOption{logging},
			serve: func(ctx context.Context, _ http.Header, _ func(string) error) error {
				return errors.Join(backend.call(ctx, procedure))
			},
		}.open(t, protocol)
		wantShed(t, p.call(t.Context(), procedure), time.Minute, "60")
		if procedure == buy && !strings.Contains(outer.Error(), "secret") {
			t.Errorf("outer interceptor: got %v want the name of the throttle", outer)
		}
		p.wants(t, "shed inside", procedure, "1 rejected/availability", "1 ignored/shed")
	})
}

// By default the calls of the health service are exempt.
func TestHealthCheck(t *testing.T) {
	for procedure, want := range map[string]bool{
		"/grpc.health.v1.Health/Check": true, "/grpc.health.v1.Health/Watch": true, buy: false, "/grpc.health.v1.HealthCare/Check": false,
	} {
		if got := connectthrottle.HealthCheck(t.Context(), connectthrottle.RPC{Spec: connect.Spec{Procedure: procedure}}); got != want {
			t.Errorf("HealthCheck of %s: got %t want %t", procedure, got, want)
		}
	}
}
