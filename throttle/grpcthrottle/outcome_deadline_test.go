package grpcthrottle_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deixis/faults"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/grpcthrottle"
)

// forever is a time that a handler or a caller needs and that no test reaches.
const forever = time.Hour

// handling is what a handler does, and what its caller does meanwhile.
type handling struct {
	config  throttle.Config
	timeout time.Duration // of the caller; 0: none
	cancel  time.Duration // when the caller cancels; 0: never
	takes   time.Duration // time that the handler needs
	ignores bool          // the handler ignores its context
	err     error         // that the handler returns if it was not interrupted
	outcome throttle.Outcome
	fault   throttle.Fault
}

// run waits as the handler does.
func (h handling) run(ctx context.Context) error {
	done := ctx.Done()
	if h.ignores {
		done = nil
	}
	select {
	case <-time.After(h.takes):
		return h.err
	case <-done:
		return ctx.Err()
	}
}

// check makes a call and returns how the server counted it. Browse has sent everything when it
// begins, talk has not.
func (h handling) check(t *testing.T, method string) {
	h.config.Name = "server"
	server := newServer(t, grpcthrottle.ServerConfig{Throttle: h.config})
	p := open(t, &shop{
		buy:    func(ctx context.Context, _ string) (string, error) { return "", h.run(ctx) },
		stream: func(_ string, ss grpc.ServerStream) error { return h.run(ss.Context()) },
	}, server.ServerOptions())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if h.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, h.timeout)
		defer cancel()
	}
	if h.cancel > 0 {
		time.AfterFunc(h.cancel, cancel)
	}
	if method == buy {
		_ = p.buy(ctx)
	} else {
		_ = p.converse(ctx, method)
	}
	time.Sleep(min(h.takes, time.Minute)) // a handler that ignores its context ends later
	synctest.Wait()
	th := member(t, server.Group(), method)
	if got := faultsOf(th, h.outcome, h.fault); got != 1 || tallyOf(th).inFlight != 0 {
		t.Errorf("got %+v, %d calls %v with %v, want 1", tallyOf(th), got, h.outcome, h.fault)
	}
}

func checkHandlings(t *testing.T, methods []string, cases map[string]handling) {
	for name, h := range cases {
		for _, method := range methods {
			t.Run(name+", "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { h.check(t, method) })
			})
		}
	}
}

// TestOutcome_Deadline has callers whose deadline passes, and callers that cancel before.
func TestOutcome_Deadline(t *testing.T) {
	const ms, timeout = time.Millisecond, throttle.FaultTimeout
	rejectCanceled := throttle.RejectIf(func(err error) bool { return errors.Is(err, context.Canceled) })
	acceptLate := throttle.AcceptIf(func(err error) bool { return status.Code(err) == codes.DeadlineExceeded })
	checkHandlings(t, []string{buy, browse, talk}, map[string]handling{
		"watches":                  {timeout: 500 * ms, takes: forever, outcome: throttle.Rejected, fault: timeout},
		"ignores":                  {timeout: 500 * ms, takes: 900 * ms, ignores: true, outcome: throttle.Rejected, fault: timeout},
		"ignores, a shed inside":   {timeout: 500 * ms, takes: 900 * ms, ignores: true, err: throttle.ErrShed, outcome: throttle.Ignored, fault: throttle.FaultShed},
		"in time, an error":        {timeout: 500 * ms, takes: 499 * ms, err: faults.NotFound, outcome: throttle.Accepted, fault: throttle.FaultMissing},
		"canceled a little before": {timeout: 500 * ms, cancel: 475 * ms, takes: forever, outcome: throttle.Rejected, fault: timeout},
		"Classify about a cancellation": {
			config: throttle.Config{Classify: rejectCanceled}, timeout: 500 * ms, cancel: 400 * ms, takes: forever,
			outcome: throttle.Ignored, fault: throttle.FaultCanceled,
		},
		"Classify about a deadline": {
			config: throttle.Config{Classify: acceptLate}, timeout: 500 * ms, takes: forever, outcome: throttle.Accepted, fault: timeout,
		},
		"no deadline": {takes: 2 * time.Second, ignores: true, outcome: throttle.Accepted, fault: throttle.FaultNone},
	})
}

// TestOutcome_CanceledAfter has callers that cancel late.
func TestOutcome_CanceledAfter(t *testing.T) {
	const canceled = throttle.FaultCanceled
	late := handling{cancel: time.Second, takes: forever, outcome: throttle.Rejected, fault: canceled}
	ignores := handling{cancel: time.Second, takes: 2 * time.Second, ignores: true, outcome: throttle.Rejected, fault: canceled}
	off := late
	off.config.CanceledAfter, off.outcome = -1, throttle.Ignored
	checkHandlings(t, []string{buy, browse}, map[string]handling{"late": late, "ignores": ignores, "off": off})
}

// sink is the stream of a server that takes every message.
type sink struct {
	grpc.ServerStream
	ctx context.Context
}

func (s sink) Context() context.Context { return s.ctx }
func (sink) SendMsg(any) error          { return nil }

// TestOutcome_FirstMessageAfterDeadline sends the first message of a stream when its caller has
// given up.
func TestOutcome_FirstMessageAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, grpcthrottle.ServerConfig{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		serve := server.StreamInterceptor()
		err := serve(nil, sink{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: talk}, func(_ any, ss grpc.ServerStream) error {
			time.Sleep(2 * time.Second)
			return ss.SendMsg(nil)
		})
		must(t, err)
		th := member(t, server.Group(), talk)
		if faultsOf(th, throttle.Rejected, throttle.FaultTimeout) != 1 {
			t.Errorf("got %+v want one timeout", tallyOf(th))
		}
	})
}

// TestOutcome_AbandonedError shows the error of a handler whose caller has gone to the hooks.
func TestOutcome_AbandonedError(t *testing.T) {
	for own, want := range map[error]string{
		nil:                        "context deadline exceeded",
		errors.New("query failed"): "context deadline exceeded: query failed",
	} {
		synctest.Test(t, func(t *testing.T) {
			var got error
			server := newServer(t, grpcthrottle.ServerConfig{Throttle: throttle.Config{Hooks: throttle.Hooks{
				Finished: func(_ context.Context, e throttle.FinishEvent) { got = e.Err },
			}}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := server.UnaryInterceptor()(ctx, nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) {
				time.Sleep(2 * time.Second)
				return nil, own
			})
			if !errors.Is(err, own) {
				t.Errorf("got error %v want that of the handler", err)
			}
			if got == nil || got.Error() != want || status.Code(got) != codes.DeadlineExceeded {
				t.Errorf("hook: got %v want %s", got, want)
			}
		})
	}
}

// streaming is a stream that the client cancels after a minute without a message from the server.
type streaming struct {
	method  string
	handler func(ss grpc.ServerStream) error // before it waits for the end
	client  func(s grpc.ClientStream) error
	caller  tally
	served  tally
}

// TestOutcome_StreamCanceledAfter cancels streams that have no message yet.
func TestOutcome_StreamCanceledAfter(t *testing.T) {
	active, silent := tally{ignored: 1}, tally{rejected: 1}
	nothing := func(grpc.ServerStream) error { return nil }
	read := func(ss grpc.ServerStream) error { return ss.RecvMsg(new(text)) }
	readAll := func(ss grpc.ServerStream) error {
		for ss.RecvMsg(new(text)) == nil {
		}
		return nil
	}
	header := func(ss grpc.ServerStream) error {
		return errors.Join(read(ss), ss.SendHeader(metadata.Pairs("a", "b")))
	}
	request := func(s grpc.ClientStream) error { return s.SendMsg(new(text)) }
	requestAll := func(s grpc.ClientStream) error { return errors.Join(s.SendMsg(new(text)), s.CloseSend()) }
	readHeader := func(s grpc.ClientStream) error {
		_, err := s.Header()
		return errors.Join(err, s.CloseSend())
	}
	for name, c := range map[string]streaming{
		"hung":                        {browse, read, requestAll, silent, silent},
		"hung before it has read":     {browse, nothing, request, silent, silent},
		"header":                      {browse, header, func(s grpc.ClientStream) error { return errors.Join(requestAll(s), readHeader(s)) }, active, active},
		"header, the client looks on": {browse, header, requestAll, silent, active},
		"upload":                      {fill, readAll, request, active, active},
		"upload, header":              {fill, header, func(s grpc.ClientStream) error { return errors.Join(request(s), readHeader(s)) }, active, active},
		"upload, hung at the end":     {fill, readAll, requestAll, silent, silent},
		"upload, hung before the end": {fill, read, requestAll, silent, active},
		"both ways":                   {talk, read, request, active, active},
		"both ways, hung at the end":  {talk, readAll, requestAll, silent, silent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.check(t) })
		})
	}
}

func (c streaming) check(t *testing.T) {
	client, server := newClient(t, grpcthrottle.ClientConfig{}), newServer(t, grpcthrottle.ServerConfig{})
	p := open(t, &shop{stream: func(_ string, ss grpc.ServerStream) error {
		_ = c.handler(ss) // an upload ends with its context
		<-ss.Context().Done()
		return ss.Context().Err()
	}}, server.ServerOptions(), client.DialOptions()...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := p.stream(ctx, c.method)
	must(t, err)
	must(t, c.client(s))
	time.Sleep(time.Minute)
	cancel()
	synctest.Wait()
	wants(t, "client", member(t, client.Group(), target), c.caller)
	wants(t, "server", member(t, server.Group(), c.method), c.served)
}

// TestOutcome_StreamNeverOpened cancels a stream late that waits for a connection.
func TestOutcome_StreamNeverOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, grpcthrottle.ClientConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		_, err := client.StreamInterceptor()(ctx, shapes[talk], nil, talk,
			func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
				<-ctx.Done()
				return nil, status.FromContextError(ctx.Err()).Err()
			})
		if status.Code(err) != codes.Canceled {
			t.Errorf("got %v want Canceled", err)
		}
		wants(t, "client", member(t, client.Group(), ""), tally{rejected: 1})
	})
}
