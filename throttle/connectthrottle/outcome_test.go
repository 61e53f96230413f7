package connectthrottle_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/deixis/faults"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/connectthrottle"
)

func hasMessagesBeforeItsEnd(procedure string) bool { return procedure == browse || procedure == talk }

func TestOutcome(t *testing.T) {
	const limit = time.Second
	aborted := connect.NewError(connect.CodeAborted, errors.New("too many at once"))
	abandoned := func(ctx context.Context, _ http.Header, _ func(string) error) error {
		<-ctx.Done()
		time.Sleep(time.Millisecond) // the caller must give up first
		return connect.NewError(connect.CodeUnavailable, errors.New("cut off"))
	}
	panics := func(context.Context, http.Header, func(string) error) error { panic(http.ErrAbortHandler) }
	all, conflicts := func(error) bool { return true }, func(err error) bool { return connect.CodeOf(err) == connect.CodeAborted }
	for name, c := range map[string]struct {
		both            throttle.Config
		classify        throttle.Classifier // of the server
		serve           handler
		option          connect.ClientOption
		timeout, cancel time.Duration // of the caller; 0: none
		client, server  string
		stream          string // on both sides, if messages may come before the end; empty: as others
	}{
		"deadline":           {serve: abandoned, timeout: limit, client: "1 rejected/timeout", server: "1 rejected/timeout"},
		"cancelled":          {serve: abandoned, cancel: limit / 2, client: "1 ignored/canceled", server: "1 ignored/canceled"},
		"cancelled late":     {serve: abandoned, cancel: limit, client: "1 rejected/canceled", server: "1 rejected/canceled", stream: "1 ignored/canceled"},
		"cancelled, no time": {both: throttle.Config{CanceledAfter: -1}, serve: abandoned, cancel: time.Minute, client: "1 ignored/canceled", server: "1 ignored/canceled"},
		"Classify, gave up":  {classify: throttle.AcceptIf(all), serve: abandoned, cancel: limit, server: "1 rejected/canceled", stream: "1 ignored/canceled"},
		"Classify":           {both: throttle.Config{Classify: throttle.RejectIf(conflicts)}, serve: fails(aborted), client: "1 rejected/conflict", server: "1 rejected/conflict"},
		"panic":              {classify: throttle.RejectIf(all), serve: panics, server: "1 ignored/panic"},
		"too large to read":  {serve: sold, option: connect.WithReadMaxBytes(1), client: "1 accepted/bad"},
		"too large to send":  {serve: sold, option: connect.WithSendMaxBytes(1), client: "1 accepted/bad"},
	} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			s := setup{connectthrottle.ClientConfig{Throttle: c.both}, connectthrottle.ServerConfig{Throttle: c.both}, c.serve, nil}
			if c.classify != nil {
				s.server.Throttle.Classify = c.classify
			}
			if c.option == nil {
				c.option = connect.WithClientOptions()
			}
			p := s.open(t, protocol, c.option)
			ctx, cancel := context.WithCancel(t.Context())
			if c.timeout > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), c.timeout)
			}
			defer cancel()
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, cancel)
			}
			if err := p.call(ctx, procedure); err == nil {
				t.Errorf("%s: got no error", name)
			}
			time.Sleep(2 * time.Second)
			client, server := c.client, c.server
			if c.stream != "" && hasMessagesBeforeItsEnd(procedure) {
				client, server = c.stream, c.stream
			}
			p.wants(t, name, procedure, client, server)
		})
	}
}

// Messages before the end decide about a stream.
func TestOutcome_Stream(t *testing.T) {
	for _, end := range []string{"error", "cancel", "deadline", "EOF"} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			if !hasMessagesBeforeItsEnd(procedure) {
				return
			}
			p := setup{serve: func(ctx context.Context, _ http.Header, send func(string) error) error {
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
			}}.open(t, protocol)
			ctx, cancel := context.WithCancel(t.Context())
			if end == "deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
			}
			defer cancel()
			open, ended := "1 in flight", "1 accepted/none"
			switch {
			case procedure == talk:
				open = "1 accepted/none, 1 in flight"
			case end == "error":
				ended = "1 rejected/availability"
			}
			time.AfterFunc(500*time.Millisecond, func() { p.wants(t, "message", procedure, open, open) })
			if end == "cancel" {
				time.AfterFunc(5*time.Second, cancel)
			}
			_ = p.call(ctx, procedure)
			time.Sleep(10 * time.Second)
			p.wants(t, end, procedure, ended, ended)
		})
	}
}

// A header is no message: a stream that fails after it is rejected.
func TestOutcome_headerOnly(t *testing.T) {
	for name, option := range protocols {
		server, err := connectthrottle.NewServer(connectthrottle.ServerConfig{Throttle: settled(throttle.Config{}, "server")})
		must(t, err)
		p := open(t, connect.NewBidiStreamHandler(talk, func(_ context.Context, s *connect.BidiStream[text, text]) error {
			return errors.Join(s.Send(nil), connect.NewError(connect.CodeUnavailable, errors.New("full")))
		}, connect.WithInterceptors(server.Interceptor())), option)
		if err := converse(p.dial(talk).CallBidiStream(t.Context())); connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("%s: got error %v want Unavailable", name, err)
		}
		counts(t, name, member(t, server.Group(), talk), "1 rejected/availability")
	}
}

// A server whose handler passes on the failure of its backend has capacity. So its throttle ignores the answer.
func TestOutcome_Dependency(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		back := setup{serve: fails(connect.NewError(connect.CodeUnavailable, errors.New("no room")))}.open(t, protocol)
		front := setup{serve: func(ctx context.Context, _ http.Header, _ func(string) error) error {
			return back.call(ctx, procedure)
		}}.open(t, protocol)
		_ = front.call(t.Context(), procedure)
		front.wants(t, "passed on", procedure, "1 rejected/availability", "1 ignored/availability")
	})
}

// Concurrent calls may have the same error. The race detector watches.
func TestOutcome_SharedError(t *testing.T) {
	everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
		p := setup{serve: fails(connect.NewError(connect.CodeUnavailable, errors.New("down")))}.open(t, protocol)
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { _ = p.call(t.Context(), procedure) })
		}
		callers.Wait()
		p.wants(t, "all down", procedure, "10 rejected/availability", "10 rejected/availability")
	})
}

// TestSlow: the first message is what counts, on both sides. A stream may go on for any time.
func TestSlow(t *testing.T) {
	slowly := throttle.Config{Slow: 100 * time.Millisecond}
	for wait, late := range map[time.Duration]uint64{50 * time.Millisecond: 0, time.Second: 1} {
		everywhere(t, func(t *testing.T, protocol connect.ClientOption, procedure string) {
			p := setup{connectthrottle.ClientConfig{Throttle: slowly}, connectthrottle.ServerConfig{Throttle: slowly}, func(_ context.Context, _ http.Header, send func(string) error) error {
				time.Sleep(wait)
				err := send("pear")
				if hasMessagesBeforeItsEnd(procedure) {
					time.Sleep(time.Minute)
					err = errors.Join(err, send("apple"))
				}
				return err
			}, nil}.open(t, protocol)
			must(t, p.call(t.Context(), procedure))
			synctest.Wait()
			for _, th := range []*throttle.Throttle{member(t, p.client.Group(), host), member(t, p.server.Group(), procedure)} {
				if got := th.Stats().Priorities[throttle.Medium].Slow.Late; got != late {
					t.Errorf("%s, %v until the message: got %d late calls want %d", th.Name(), wait, got, late)
				}
			}
		})
	}
}
