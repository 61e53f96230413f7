package grpcthrottle

import (
	"context"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
)

// ClientConfig says how a client's calls are throttled. Only Throttle.Name is required. [NewClient] copies it.
type ClientConfig struct {
	// Throttle is how each throttle behaves. Its Name is required.
	Throttle throttle.Config
	// Group bounds how many throttles there are.
	Group throttle.GroupConfig
	// Key says which calls share a throttle. They should share a backend. Default: those to the same target.
	Key func(context.Context, RPC) string
	// Priority is that of calls whose context carries none. Default [throttle.Medium].
	Priority func(context.Context, RPC) throttle.Priority
	// Send reports whether the backend may be told the priority of the call, in its metadata, as [PriorityKey]. What is told is
	// the priority of the context, else that of the func Priority. Nil tells nobody: that you call a server does not make
	// it yours.
	Send func(context.Context, RPC) bool
}

// Client throttles the calls of gRPC clients. Make one with [NewClient], and give it to as many connections as you like.
// Its functions may be called at any time, by many goroutines.
type Client struct {
	members
	priority func(context.Context, RPC) throttle.Priority
	send     func(context.Context, RPC) bool
}

// NewClient returns a client, or an error that names every field of c that is out of range. Methods of a nil or zero Client that return
// interceptors panic.
func NewClient(c ClientConfig) (*Client, error) {
	if c.Key == nil {
		c.Key = func(_ context.Context, rpc RPC) string { return rpc.Target }
	}
	m, err := newMembers("ClientConfig", c.Throttle, c.Group, c.Key)
	if err != nil {
		return nil, err
	}
	return &Client{members: m, priority: c.Priority, send: c.Send}, nil
}

// DialOptions returns both interceptors, chained to those of options that stand before them: the first is the outermost.
func (c *Client) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(c.UnaryInterceptor()),
		grpc.WithChainStreamInterceptor(c.StreamInterceptor()),
	}
}

// mustBeMade panics if the client did not come from NewClient: now, and not with each call.
func (c *Client) mustBeMade() {
	if c == nil || c.group == nil {
		panic("grpcthrottle: the Client is nil or zero: want one made with NewClient")
	}
}

// Group returns the client's throttles, by key: for their Stats, and to Tune one.
func (c *Client) Group() *throttle.Group { return c.group }

// Close closes the client's throttles. Calls that are made later are sent without one: none is shed, counted or told of. Those in flight
// are counted and told of to their end. It is idempotent, and always returns nil.
func (c *Client) Close() error { return c.group.Close() }

// UnaryInterceptor throttles unary calls. A call that is shed is not sent: errors.Is(err, [throttle.ErrShed]) holds for its
// error, whose code is Unavailable. Every other error is that of the call, untouched.
func (c *Client) UnaryInterceptor() grpc.UnaryClientInterceptor {
	c.mustBeMade()
	return func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		rpc := outgoing(cc, method, false)
		t := c.of(ctx, rpc)
		p, known := c.rank(ctx, rpc)
		if t == nil {
			return invoker(c.tell(ctx, rpc, p, known), method, req, reply, cc, opts...)
		}
		var own error
		made := false
		err := t.Do(ctx, p, func(ctx context.Context) error {
			made = true
			own = invoker(c.tell(ctx, rpc, p, known), method, req, reply, cc, opts...)
			return ended(own)
		})
		if !made {
			return c.refusal(err)
		}
		return own
	}
}

// StreamInterceptor throttles streams. The outcome of a stream is told with its first message, or with its status if none
// came before; the stream is in flight until it is over. That is when the status has been received, the context is over, or
// the connection is closed: the same as gRPC itself asks for, lest a stream leak.
func (c *Client) StreamInterceptor() grpc.StreamClientInterceptor {
	c.mustBeMade()
	return func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		rpc := outgoing(cc, method, true)
		t := c.of(ctx, rpc)
		p, known := c.rank(ctx, rpc)
		if t == nil {
			return streamer(c.tell(ctx, rpc, p, known), desc, cc, method, opts...)
		}
		call, err := t.Admit(ctx, p)
		if err != nil {
			return nil, c.refusal(err)
		}
		s := &clientStream{call: call}
		begun := false
		defer func() {
			if !begun {
				s.end(throttle.ErrPanicked)
			}
		}()
		s.ClientStream, err = streamer(c.tell(call.Context(), rpc, p, known), desc, cc, method, s.options(opts)...)
		begun = true
		if err != nil {
			s.end(err)
			return nil, err
		}
		return s, nil
	}
}

// rank returns the priority of a call, and whether anybody has said so.
func (c *Client) rank(ctx context.Context, rpc RPC) (p throttle.Priority, known bool) {
	if p, known = carried(ctx); known {
		return p, true
	}
	if c.priority == nil {
		return throttle.Medium, false
	}
	return c.priority(ctx, rpc), true
}

// tell returns the context of a call that says its priority to those who may know it, and to nobody else.
func (c *Client) tell(ctx context.Context, rpc RPC, p throttle.Priority, known bool) context.Context {
	word := ""
	if known && c.send != nil && c.send(ctx, rpc) {
		word = wordFor(p)
	}
	return say(ctx, word)
}
