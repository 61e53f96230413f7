package connectthrottle_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

func TestOutcome_Deadline(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		client, calling := newClient(t, connectthrottle.ClientConfig{})
		server, serving := newServer(t, connectthrottle.ServerConfig{})
		p := open(t, handle(func(ctx context.Context, _ http.Header, _ func(string) error) error {
			<-ctx.Done()
			time.Sleep(time.Second) // the caller must give up first
			return faults.NotFound
		}, serving), protocol, calling)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.call(ctx, procedure); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("got %v want DeadlineExceeded", err)
		}
		time.Sleep(3 * time.Second)
		for _, th := range []*throttle.Throttle{member(t, client.Group(), host), member(t, server.Group(), procedure)} {
			if faultsOf(th, throttle.Rejected, throttle.FaultTimeout) != 1 {
				t.Errorf("%s: got %+v want one rejected with timeout", th.Name(), tallyOf(th))
			}
		}
	})
}

// TestOutcome_Canceled cancels calls early and late. The error of the handler counts for nothing.
func TestOutcome_Canceled(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		for _, tt := range []struct {
			limit, after time.Duration
			late         bool
		}{
			{0, 999 * time.Millisecond, false}, {0, time.Second, true}, {-1, time.Minute, false}, {time.Minute, time.Minute, true},
		} {
			accept := throttle.AcceptIf(func(error) bool { return true }) // is not called for a disconnected caller
			client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: throttle.Config{CanceledAfter: tt.limit}})
			server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: throttle.Config{
				CanceledAfter: tt.limit, Classify: accept,
			}})
			p := open(t, handle(func(ctx context.Context, _ http.Header, _ func(string) error) error {
				<-ctx.Done()
				return connect.NewError(connect.CodeUnavailable, errors.New("cut off"))
			}, serving), protocol, calling)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(tt.after, cancel)
			if err := p.call(ctx, procedure); connect.CodeOf(err) != connect.CodeCanceled {
				t.Errorf("got %v want Canceled", err)
			}
			synctest.Wait()
			outcome := throttle.Ignored
			if tt.late && (procedure == buy || procedure == fill) { // other streams may be idle
				outcome = throttle.Rejected
			}
			for _, th := range []*throttle.Throttle{member(t, client.Group(), host), member(t, server.Group(), procedure)} {
				if faultsOf(th, outcome, throttle.FaultCanceled) != 1 {
					t.Errorf("%v of %v, %s: got %+v want one call %v", tt.after, tt.limit, th.Name(), tallyOf(th), outcome)
				}
			}
		}
	})
}

func TestOutcome_Stream(t *testing.T) {
	for _, end := range []string{"error", "cancel", "deadline", "EOF"} {
		t.Run(end, func(t *testing.T) {
			everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
				if procedure == buy || procedure == fill {
					return // no messages before the end
				}
				client, calling := newClient(t, connectthrottle.ClientConfig{})
				server, serving := newServer(t, connectthrottle.ServerConfig{})
				p := open(t, handle(func(ctx context.Context, _ http.Header, send func(string) error) error {
					must(t, send("pear"))
					time.Sleep(time.Second)
					switch end {
					case "EOF":
						return nil
					case "error":
						return faults.Unavailable(0)
					}
					<-ctx.Done()
					return ctx.Err()
				}, serving), protocol, calling)
				ctx, cancel := context.WithCancel(t.Context())
				if end == "deadline" {
					ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
				}
				defer cancel()
				go func() {
					time.Sleep(500 * time.Millisecond)
					want := tally{inFlight: 1}
					if procedure == talk {
						want.accepted = 1
					}
					wants(t, "client, message", member(t, client.Group(), host), want)
					wants(t, "server, message", member(t, server.Group(), procedure), want)
					if time.Sleep(5 * time.Second); end == "cancel" {
						cancel()
					}
				}()
				_ = p.call(ctx, procedure)
				time.Sleep(10 * time.Second)
				want := tally{accepted: 1}
				if procedure == browse && end == "error" {
					want = tally{rejected: 1}
				}
				wants(t, "client, end", member(t, client.Group(), host), want)
				wants(t, "server, end", member(t, server.Group(), procedure), want)
			})
		})
	}
}

// TestOutcome_Panic ignores a panic of a handler, whatever Classify returns.
func TestOutcome_Panic(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: throttle.Config{
			Classify: throttle.RejectIf(func(error) bool { return true }),
		}})
		p := open(t, handle(func(context.Context, http.Header, func(string) error) error {
			panic(http.ErrAbortHandler)
		}, serving), protocol)
		if err := p.call(t.Context(), procedure); err == nil {
			t.Error("got no error")
		}
		th := member(t, server.Group(), procedure)
		if faultsOf(th, throttle.Ignored, throttle.FaultPanic) != 1 {
			t.Errorf("got %+v want one ignored", tallyOf(th))
		}
	})
}

// TestOutcome_TooLarge accepts messages that are too large: that is not a lack of capacity.
func TestOutcome_TooLarge(t *testing.T) {
	for _, limit := range []connect.Option{connect.WithReadMaxBytes(1), connect.WithSendMaxBytes(1)} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			client, calling := newClient(t, connectthrottle.ClientConfig{})
			p := open(t, handle(func(_ context.Context, _ http.Header, send func(string) error) error {
				return send("many pears")
			}), protocol, calling, limit)
			if err := p.call(t.Context(), procedure); connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Errorf("got %v want ResourceExhausted", err)
			}
			th := member(t, client.Group(), host)
			if faultsOf(th, throttle.Accepted, throttle.FaultBad) != 1 || tallyOf(th).inFlight != 0 {
				t.Errorf("got %+v want one accepted as bad", tallyOf(th))
			}
		})
	}
}

func TestOutcome_Classify(t *testing.T) {
	config := throttle.Config{Classify: throttle.RejectIf(func(err error) bool { return connect.CodeOf(err) == connect.CodeAborted })}
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		client, calling := newClient(t, connectthrottle.ClientConfig{Throttle: config})
		server, serving := newServer(t, connectthrottle.ServerConfig{Throttle: config})
		p := open(t, handle(func(context.Context, http.Header, func(string) error) error {
			return connect.NewError(connect.CodeAborted, errors.New("too many at once"))
		}, serving), protocol, calling)
		_ = p.call(t.Context(), procedure)
		wants(t, "client", member(t, client.Group(), host), tally{rejected: 1})
		wants(t, "server", member(t, server.Group(), procedure), tally{rejected: 1})
	})
}

// A server whose handler passes on the failure of its backend has capacity. So the throttle ignores the answer.
func TestOutcome_Dependency(t *testing.T) {
	unavailable, missing := connect.NewError(connect.CodeUnavailable, errors.New("no room")), connect.NewError(connect.CodeNotFound, errors.New("none"))
	for name, tt := range map[string]struct {
		backend, own error // of the call that the handler makes; of the handler, nil if it is the same
		want         tally
	}{
		"passed on":             {backend: unavailable, want: tally{ignored: 1}},
		"after another failure": {backend: missing, own: unavailable, want: tally{rejected: 1}},
	} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			_, calling := newClient(t, connectthrottle.ClientConfig{})
			back := open(t, handle(func(context.Context, http.Header, func(string) error) error { return tt.backend }), protocol, calling)
			server, serving := newServer(t, connectthrottle.ServerConfig{})
			front := open(t, handle(func(ctx context.Context, _ http.Header, _ func(string) error) error {
				if err := back.call(ctx, procedure); tt.own == nil {
					return err
				}
				return tt.own
			}, serving), protocol)
			_ = front.call(t.Context(), procedure)
			wants(t, name, member(t, server.Group(), procedure), tt.want)
		})
	}
}
