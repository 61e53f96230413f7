package grpcthrottle

import (
	"context"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// ClientConfig configures a [Client]. Only Throttle.Name is required. [NewClient] copies it.
type ClientConfig struct {
	// Throttle configures the throttle of each key. Its Name is required. Its CanceledAfter is 1 s
	// by default; a negative value is off. See the section about calls that are cancelled late.
	Throttle throttle.Config
	// Group bounds the number of throttles.
	Group throttle.GroupConfig
	// Key returns the key of a call's throttle. Calls with the same key share one throttle, so they
	// should go to the same backend. Default: the target.
	Key func(context.Context, RPC) string
	// Priority returns the priority of a call whose context carries none. Default:
	// [throttle.Medium].
	Priority func(context.Context, RPC) throttle.Priority
	// Send reports whether the priority of a call may travel to its backend, in the metadata
	// [PriorityKey]. That is the priority of the context, else that of the Priority function.
	// Default: never, because the backend may belong to another company.
	Send func(context.Context, RPC) bool
	// Listen reports whether the client sheds what the backend of a call says that it sheds, see
	// ServerConfig.Tell. Answer true for backends of your own only: a wrong report can make the client shed
	// up to 95 % of the calls, until it notices that the backend rejects far fewer. It is called for each
	// call with a report. Default: never.
	Listen func(context.Context, RPC) bool
	// Retry makes the client retry unary calls that the target had no capacity for, with one budget
	// per key. Its Name is that of Throttle by default; its Throttle must be nil. Default nil: no
	// retries. See the section about retries.
	Retry *retry.Config
	// Repeatable reports whether a call may be sent twice. Default: none may, because the name of a
	// method does not show it.
	Repeatable func(context.Context, RPC) bool
}

// Client throttles the calls of gRPC clients. Make one with [NewClient]. Any number of connections
// can share it, and it is safe for concurrent use.
type Client struct {
	throttles *protocol.Throttles
	config    ClientConfig // with its defaults
	ownStatus bool         // Config.ShedErr has a gRPC status
}

// NewClient returns a client, or an error that names every field of c which is out of range. The
// methods of a nil or zero Client that return interceptors panic.
func NewClient(c ClientConfig) (*Client, error) {
	if c.Key == nil {
		c.Key = func(_ context.Context, rpc RPC) string { return rpc.Target }
	}
	c.Throttle.Classify = protocol.Reporting(c.Throttle.Classify)
	if c.Repeatable == nil {
		c.Repeatable = func(context.Context, RPC) bool { return false }
	}
	t, err := protocol.NewThrottles("grpcthrottle: ClientConfig", c.Throttle, c.Group, c.Retry)
	if err != nil {
		return nil, err
	}
	return &Client{throttles: t, config: c, ownStatus: hasStatus(c.Throttle.ShedErr)}, nil
}

// DialOptions returns both interceptors as chained options. Interceptors of earlier options run
// outside of them.
func (c *Client) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(c.UnaryInterceptor()),
		grpc.WithChainStreamInterceptor(c.StreamInterceptor()),
	}
}

// Group returns the throttles by key, for Stats and Tune. It returns nil, a Group without throttles, for a
// nil or zero Client.
func (c *Client) Group() *throttle.Group {
	if c == nil || c.throttles == nil {
		return nil
	}
	return c.throttles.Group
}

// Retriers returns the retriers of all keys, for Stats. It returns nil without ClientConfig.Retry.
func (c *Client) Retriers() *retry.Group {
	if c == nil || c.throttles == nil {
		return nil
	}
	return c.throttles.Retriers
}

// Close closes the throttles. Later calls are sent without a throttle: they are not shed and not
// counted, and no hook is called. The first one is a warning of slog.Default. Calls in flight are
// counted to their end. Close is idempotent, and always returns nil.
func (c *Client) Close() error { return c.Group().Close() }

// UnaryInterceptor returns the interceptor for unary calls. A shed call is not sent. Its error has
// the code Unavailable, and errors.Is(err, [throttle.ErrShed]) holds. Any other error is that of
// the call, unchanged.
func (c *Client) UnaryInterceptor() grpc.UnaryClientInterceptor {
	mustBeMade("Client", c != nil && c.throttles != nil)
	return func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		rpc := outgoingRPC(cc, method, false)
		t := c.throttles.Of(c.config.Key(ctx, rpc))
		p, set := c.priorityOf(ctx, rpc)
		if t == nil {
			return invoker(c.outgoing(ctx, rpc, p, set), method, req, reply, cc, opts...)
		}
		u := unaryCall{client: c, throttle: t, rpc: rpc, set: set, req: req, reply: reply, conn: cc, invoker: invoker}
		if retrier := c.throttles.RetrierOf(t); retrier != nil {
			return u.retrying(ctx, retrier, p, opts)
		}
		call, err := t.Admit(ctx, p)
		if err != nil {
			return c.notMade(ctx, err)
		}
		var answer answerTrailer
		own, _ := u.attempt(call, 1, p, &answer, answer.with(opts))
		return own
	}
}

// StreamInterceptor returns the interceptor for streams. The outcome of a stream is recorded with
// its first message, or with its status if there is no message before. The stream is in flight
// until:
//
//   - the status was received,
//   - the context has ended,
//   - or the connection was closed.
//
// Without one of these, gRPC itself leaks the stream.
func (c *Client) StreamInterceptor() grpc.StreamClientInterceptor {
	mustBeMade("Client", c != nil && c.throttles != nil)
	return func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		rpc := outgoingRPC(cc, method, true)
		t := c.throttles.Of(c.config.Key(ctx, rpc))
		p, set := c.priorityOf(ctx, rpc)
		if t == nil {
			return streamer(c.outgoing(ctx, rpc, p, set), desc, cc, method, opts...)
		}
		call, err := t.Admit(ctx, p)
		if err != nil {
			return nil, c.notMade(ctx, err)
		}
		s := &clientStream{call: call, client: c, throttle: t, rpc: rpc}
		returned := false
		defer func() {
			if !returned {
				s.end(throttle.ErrPanicked)
			}
		}()
		opts = s.answer.with(opts, grpc.OnFinish(s.finished))
		s.ClientStream, err = streamer(c.outgoing(call.Context(), rpc, p, set), desc, cc, method, opts...)
		returned = true
		if err != nil {
			s.end(err)
			return nil, err
		}
		s.progress.opened(desc.ClientStreams)
		return s, nil
	}
}

// notMade returns the error of a call that was not made, and reports a shed to the server around ctx.
func (c *Client) notMade(ctx context.Context, err error) error {
	if isShed(err) {
		protocol.Report(ctx, err)
		if !c.ownStatus {
			return &shedError{err}
		}
	}
	return notMade(err)
}

func (c *Client) priorityOf(ctx context.Context, rpc RPC) (p throttle.Priority, set bool) {
	if p, set = protocol.Priority(ctx); set || c.config.Priority == nil {
		return p, set
	}
	return c.config.Priority(ctx, rpc), true
}

// outgoing returns the context of a call, whose metadata has the priority only if Send allows it.
func (c *Client) outgoing(ctx context.Context, rpc RPC, p throttle.Priority, set bool) context.Context {
	word := ""
	if set && c.config.Send != nil && c.config.Send(ctx, rpc) {
		word = protocol.Word(p)
	}
	return withOutgoing(ctx, word)
}

// clientStream is a stream whose call is in flight. It needs no goroutine: gRPC calls OnFinish.
type clientStream struct {
	grpc.ClientStream

	call     throttle.Call
	client   *Client
	throttle *throttle.Throttle
	rpc      RPC
	progress progress
	answer   answerTrailer
}

// finished ends the call when gRPC has read its trailer, which only then may be read.
func (s *clientStream) finished(err error) {
	defer s.record(clientOutcome(err, &s.answer.trailer)) // also if Listen panics
	s.client.receive(s.call.Context(), s.throttle, s.rpc, s.answer.trailer)
}

// RecvMsg receives a message. The first one records the outcome.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.call.Answered(nil)
		return nil
	}
	if err == io.EOF { //nolint:errorlint // a wrapped EOF is not the successful end
		s.end(nil)
	} else {
		s.end(err)
	}
	return err
}

// SendMsg sends a message. An error other than EOF ends the call. After EOF, RecvMsg returns the
// status.
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && err != io.EOF { //nolint:errorlint // after a wrapped EOF there is nothing to receive
		s.end(err)
	}
	return err
}

func (s *clientStream) CloseSend() error {
	s.progress.reach(waiting)
	return s.ClientStream.CloseSend()
}

// Header waits for the header of the server. gRPC returns nil if the stream has ended without one.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if md != nil {
		s.progress.reach(answered)
	}
	return md, err
}

// end ends the call. Only the first end counts. gRPC calls it too, but another interceptor may have
// removed the option by which it does.
func (s *clientStream) end(err error) { s.record(clientOutcome(err, nil)) }

func (s *clientStream) record(err error) {
	protocol.Report(s.call.Context(), err)
	s.call.Done(s.progress.outcome(err))
}

// answerTrailer receives the trailer of a call. A server may send its pushback there.
type answerTrailer struct {
	trailer metadata.MD
	options [4]grpc.CallOption // space for the options of most calls
}

// with returns opts, an option that sets the trailer at the end of the call, and more options. It does not
// change opts.
func (a *answerTrailer) with(opts []grpc.CallOption, more ...grpc.CallOption) []grpc.CallOption {
	all := append(append(a.options[:0], opts...), grpc.Trailer(&a.trailer))
	return slices.Clip(append(all, more...))
}
