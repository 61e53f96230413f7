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

	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func sold(context.Context, http.Header, func(string) error) error { return nil }

// wantShed checks the error that the caller of a shed call gets, and the error in it that connect sends.
func wantShed(t *testing.T, err error, delay time.Duration, retryAfter string) {
	t.Helper()
	var coded *connect.Error
	if !errors.As(err, &coded) || coded.Code() != connect.CodeUnavailable || coded.Message() != "throttle: call shed" {
		t.Fatalf("got %v want Unavailable: throttle: call shed", coded)
	}
	if len(coded.Details()) != 1 {
		t.Fatalf("got details %v want one", coded.Details())
	}
	detail, _ := coded.Details()[0].Value()
	if info, ok := detail.(*errdetails.RetryInfo); !ok || info.GetRetryDelay().AsDuration() != delay {
		t.Errorf("got detail %v want a RetryInfo of %v", detail, delay)
	}
	if got := coded.Meta().Get("Retry-After"); got != retryAfter {
		t.Errorf("Retry-After: got %q want %q", got, retryAfter)
	}
	if got := coded.Meta().Get("Grpc-Retry-Pushback-Ms"); got != "-1" {
		t.Errorf("pushback: got %q want -1", got)
	}
}

func TestClient_Shed(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for _, own := range []error{nil, connect.NewError(connect.CodeAborted, errors.New("later"))} { // Config.ShedErr
			client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Rand: always, ShedErr: own}})
			p := open(t, handle(func(context.Context, http.Header, func(string) error) error {
				t.Error("got a call: it was shed")
				return nil
			}), protocol, calling)
			spoil(t, client.Group(), host)
			err := p.call(t.Context(), procedure)
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
		client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{InvalidPriority: throttle.RejectPriority}})
		p := open(t, handle(sold), protocol, calling)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		for code, ctx := range map[connect.Code]context.Context{
			connect.CodeCanceled: canceled, connect.CodeDeadlineExceeded: late,
			connect.CodeInternal: throttle.WithPriority(t.Context(), 15),
		} {
			if err := p.call(ctx, procedure); connect.CodeOf(err) != code {
				t.Errorf("got %v want %v", err, code)
			}
		}
		wants(t, "none made", member(t, client.Group(), host), tally{})
	})
}

// TestClose makes and serves calls without throttles, which still do not send a priority, and convert faults.
func TestClose(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Rand: always}})
		server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: throttle.Config{Rand: always}})
		p := open(t, handle(func(_ context.Context, h http.Header, _ func(string) error) error {
			if got := h.Get(connectthrottle.PriorityHeader); got != "" {
				t.Errorf("got the priority %q sent", got)
			}
			return faults.NotFound
		}, serving), protocol, calling)
		spoil(t, client.Group(), host)
		spoil(t, server.Group(), procedure)
		must(t, errors.Join(client.Close(), client.Close(), server.Close(), server.Close()))
		ctx := throttle.WithPriority(t.Context(), throttle.Low)
		if err := p.call(ctx, procedure); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("got %v want NotFound", err)
		}
	})
}

type hooked struct{}

func startHook() throttle.Hooks {
	return throttle.Hooks{Started: func(ctx context.Context, _ throttle.StartEvent) context.Context {
		return context.WithValue(ctx, hooked{}, true)
	}}
}

type asking struct {
	http.RoundTripper

	t *testing.T
}

func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(hooked{}) != true {
		a.t.Error("client: got no value of the Started hook")
	}
	return a.RoundTripper.RoundTrip(r)
}

func TestClient_Hooks(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		_, calling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{Hooks: startHook()}})
		_, serving := newServer(t, connectthrottle.ServerConfig{Throttle: throttle.Config{Hooks: startHook()}})
		p := open(t, handle(func(ctx context.Context, _ http.Header, _ func(string) error) error {
			if ctx.Value(hooked{}) != true {
				t.Error("server: got no value of the Started hook")
			}
			return nil
		}, serving), protocol, calling)
		p.client.Transport = asking{p.client.Transport, t}
		must(t, p.call(t.Context(), procedure))
	})
}

// TestClient_OtherSide passes calls of the other side through: some programs share options.
func TestClient_OtherSide(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		client, calling := newClient(t, connectthrottle.ClientConfig{})
		server, serving := newServer(t, connectthrottle.ServerConfig{})
		p := open(t, handle(sold, calling), protocol, serving)
		must(t, p.call(t.Context(), procedure))
		if client.Group().Len() != 0 || server.Group().Len() != 0 {
			t.Errorf("got %d and %d throttles want none", client.Group().Len(), server.Group().Len())
		}
	})
}

func TestConfig_errors(t *testing.T) {
	_, client := connectthrottle.NewClient(connectthrottle.ClientConfig{
		Throttle: throttle.Config{Name: "shop", Ratio: 0.5, CanceledAfter: 2 * time.Hour}, Group: throttle.GroupConfig{Max: -1},
	})
	_, server := connectthrottle.NewServer(connectthrottle.ServerConfig{
		Group: throttle.GroupConfig{Max: -1}, RetryAfter: 2 * time.Hour, Trust: throttle.Trust{Ceiling: -1, Default: 16},
	})
	for want, err := range map[string]error{
		"ClientConfig.Throttle": client, "Ratio": client, "CanceledAfter": client, "ClientConfig.Group": client,
		"ServerConfig.Throttle": server, "ServerConfig.Group": server, "ServerConfig.RetryAfter is 2h0m0s: want 0s to 1h0m0s": server,
		"ServerConfig.Trust.Ceiling": server, "ServerConfig.Trust.Default": server,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v want %s in it", err, want)
		}
	}
}

func TestNilAndZero(t *testing.T) {
	var client *connectthrottle.Client
	for name, build := range map[string]func(){
		"nil client":  func() { client.Interceptor() },
		"zero client": func() { new(connectthrottle.Client).Interceptor() },
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
