package connectthrottle

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// ClientConfig configures a [Client]. Only Throttle.Name is required. [NewClient] copies it.
type ClientConfig struct {
	// Throttle configures the throttle of each key. Its Name is required. A CanceledAfter of zero
	// means 1 s here.
	Throttle throttle.Config
	// Group bounds the number of throttles.
	Group throttle.GroupConfig
	// Key returns the key of a call's throttle. Calls with the same key share one throttle, so they
	// should go to the same backend. Default: the host.
	Key func(context.Context, RPC) string
	// Priority returns the priority of a call whose context carries none. Default:
	// [throttle.Medium].
	Priority func(context.Context, RPC) throttle.Priority
	// Send reports whether the priority of a call may travel to its backend, in the header
	// [PriorityHeader]. That is the priority of the context, else that of the Priority function.
	// Default: never, because the backend may belong to another company.
	Send func(context.Context, RPC) bool
	// Listen reports whether the client sheds what the backend of a call says that it sheds, see
	// ServerConfig.Tell. Answer true for backends of your own only: a wrong report can make the client shed
	// up to 95 % of the calls, until it notices that the backend rejects far fewer. It is called for each
	// call with a report. Default: never.
	Listen func(context.Context, RPC) bool
}

// Client throttles the calls of connect clients. Make one with [NewClient]. Any number of connect
// clients can share it, and it is safe for concurrent use.
type Client struct {
	throttles *protocol.Throttles
	config    ClientConfig // with its defaults
	ownCode   bool         // Config.ShedErr has a code
}

// NewClient returns a client, or an error that names every field of c which is out of range. The
// method Interceptor of a nil or zero Client panics.
func NewClient(c ClientConfig) (*Client, error) {
	if c.Key == nil {
		c.Key = func(_ context.Context, rpc RPC) string { return rpc.Peer.Addr }
	}
	c.Throttle.Classify = protocol.Reporting(c.Throttle.Classify)
	t, err := protocol.NewThrottles("connectthrottle: ClientConfig", c.Throttle, c.Group, nil)
	if err != nil {
		return nil, err
	}
	_, ownCode := codedOf(c.Throttle.ShedErr)
	return &Client{throttles: t, config: c, ownCode: ownCode}, nil
}

// Group returns the throttles by key, for Stats and Tune. It returns nil, a Group without throttles, for a
// nil or zero Client.
func (c *Client) Group() *throttle.Group {
	if c == nil || c.throttles == nil {
		return nil
	}
	return c.throttles.Group
}

// Close closes the throttles. Later calls are sent without a throttle: they are not shed and not
// counted, and no hook is called. The first one is a warning of slog.Default. Calls in flight are
// counted to their end. Close is idempotent, and always returns nil.
func (c *Client) Close() error { return c.Group().Close() }

// Interceptor returns the interceptor for connect.WithInterceptors. A shed call is not sent. Its
// error has the code Unavailable, and errors.Is(err, [throttle.ErrShed]) holds. Any other error is
// that of the call, unchanged. Handlers pass through it unchanged.
//
// A stream is a call from its first Send or CloseRequest, because connect sends nothing before. All
// methods of a shed stream return its error. The stream is in flight until:
//
//   - Receive or Send has returned an error,
//   - CloseResponse was called,
//   - or the context has ended.
//
// Without one of these, connect itself leaks the stream.
func (c *Client) Interceptor() connect.Interceptor {
	if c == nil || c.throttles == nil {
		panic("connectthrottle: the Client is nil or zero: want one made with NewClient")
	}
	return clientInterceptor{c}
}

type clientInterceptor struct{ *Client }

func (c clientInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (res connect.AnyResponse, own error) {
		rpc := RPC{Spec: req.Spec(), Peer: req.Peer()}
		if !rpc.Spec.IsClient {
			return next(ctx, req)
		}
		p := c.prepare(ctx, rpc, req.Header())
		t := c.throttles.Of(c.config.Key(ctx, rpc))
		if t == nil {
			return next(ctx, req)
		}
		sent := false
		err := t.Do(ctx, p, func(ctx context.Context) error {
			sent = true
			res, own = next(ctx, req)
			c.receiveUnary(ctx, t, rpc, res, own)
			outcome := FromError(own)
			protocol.Report(ctx, outcome)
			return outcome
		})
		if !sent {
			return nil, c.notMade(ctx, err)
		}
		return res, own
	}
}

// WrapStreamingClient returns next with a throttle. The call begins later, when its header is
// complete and its host is known.
func (c clientInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		s := &clientStream{client: c.Client, ctx: streamContext{Context: ctx}, begun: make(chan struct{})}
		s.StreamingClientConn = next(&s.ctx, spec)
		return s
	}
}

func (clientInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

func (c *Client) notMade(ctx context.Context, err error) error {
	if isShed(err) {
		protocol.Report(ctx, err)
		if !c.ownCode {
			return &shedError{err, protocol.RetryAfter}
		}
	}
	return notMade(err)
}

// prepare returns the priority of a call. It leaves a priority in the header only if Send allows it.
func (c *Client) prepare(ctx context.Context, rpc RPC, h http.Header) throttle.Priority {
	p, set := protocol.Priority(ctx)
	if !set && c.config.Priority != nil {
		p, set = c.config.Priority(ctx, rpc), true
	}
	word := ""
	if set && c.config.Send != nil && c.config.Send(ctx, rpc) {
		word = protocol.Word(p)
	}
	setHeader(h, word)
	return p
}
