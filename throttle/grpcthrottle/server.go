package grpcthrottle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
)

// longestDelay bounds how long a caller can be asked, or can ask us, to stay away.
const longestDelay = time.Hour

// defaultRetryAfter is when to try again after a shed.
const defaultRetryAfter = time.Second

// ServerConfig configures how a server's calls are throttled. Only Throttle.Name is required. [NewServer] copies it.
type ServerConfig struct {
	// Throttle is how each throttle behaves. Its Name is required.
	Throttle throttle.Config
	// Group bounds how many throttles there are.
	Group throttle.GroupConfig
	// Key says which calls share a throttle. They should share what runs out. Default: those of the same method.
	Key func(context.Context, RPC) string
	// Trust decides which priority a call gets from its metadata [PriorityKey]. Its Peer can find the sender with peer.FromContext.
	// The zero Trust trusts no sender: every call is Medium. If an earlier interceptor put a priority into the context, the call keeps
	// that one. NewServer returns an error if Ceiling or Default is not a priority.
	Trust throttle.Trust
	// Priority returns the priority of a call without a trusted one. It may return any priority, High too: Trust.Ceiling does not
	// limit it. Default: Trust.Default, at most Trust.Ceiling.
	Priority func(context.Context, RPC) throttle.Priority
	// RetryAfter is what callers that were shed are told to wait, at most 1 h. Default 1 s.
	RetryAfter time.Duration
	// Pushback is when the retry policies of gRPC clients may send a call again that was shed, at most 1 h. Default, and zero: never,
	// because to send at once what was shed undoes it. A caller that looks at the error decides for himself.
	Pushback time.Duration
}

// Server throttles the calls that gRPC servers get. Make one with [NewServer]. Its functions may be called at any time, by
// many goroutines.
type Server struct {
	members
	trust    throttle.Trust
	priority func(context.Context, RPC) throttle.Priority
	shed     *shedding
}

// NewServer returns a server, or an error that names every field of c that is out of range. Methods of a nil or zero Server that return
// interceptors panic.
func NewServer(c ServerConfig) (*Server, error) {
	if c.Key == nil {
		c.Key = func(_ context.Context, rpc RPC) string { return rpc.Method }
	}
	m, err := newMembers("ServerConfig", c.Throttle, c.Group, c.Key)
	err = errors.Join(err, checkDelay("RetryAfter", c.RetryAfter), checkDelay("Pushback", c.Pushback),
		checkTrust("Ceiling", c.Trust.Ceiling), checkTrust("Default", c.Trust.Default))
	if err != nil {
		return nil, err
	}
	if c.RetryAfter == 0 {
		c.RetryAfter = defaultRetryAfter
	}
	return &Server{members: m, trust: c.Trust, priority: c.Priority, shed: newShedding(c.RetryAfter, c.Pushback)}, nil
}

func checkDelay(field string, d time.Duration) error {
	if d < 0 || d > longestDelay {
		return fmt.Errorf("grpcthrottle: ServerConfig.%s is %v: want 0s to %v", field, d, longestDelay)
	}
	return nil
}

func checkTrust(field string, p throttle.Priority) error {
	if _, err := throttle.RejectPriority(p, throttle.MaxPriorities); err != nil {
		return fmt.Errorf("grpcthrottle: ServerConfig.Trust.%s: %w", field, err)
	}
	return nil
}

// ServerOptions returns both interceptors, chained to those of options that stand before them: the first is the outermost.
func (s *Server) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.UnaryInterceptor()),
		grpc.ChainStreamInterceptor(s.StreamInterceptor()),
	}
}

// mustBeMade panics if the server did not come from NewServer: now, and not with each call.
func (s *Server) mustBeMade() {
	if s == nil || s.group == nil {
		panic("grpcthrottle: the Server is nil or zero: want one made with NewServer")
	}
}

// Group returns the server's throttles, by key: for their Stats, and to Tune one.
func (s *Server) Group() *throttle.Group { return s.group }

// Close closes the server's throttles. Calls that come later are served without one: none is shed, counted or told of. Those in flight
// are counted and told of to their end. It is idempotent, and always returns nil.
func (s *Server) Close() error { return s.group.Close() }

// UnaryInterceptor throttles unary calls. The caller of one that is shed gets the code Unavailable, a RetryInfo, and for its
// retry policy a pushback. So does the caller of one whose handler returns a shed of its own. Other errors of handlers become
// what [ToStatus] makes of them.
func (s *Server) UnaryInterceptor() grpc.UnaryServerInterceptor {
	s.mustBeMade()
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		rpc := RPC{Method: info.FullMethod}
		ctx, p := s.receive(ctx, rpc)
		t := s.of(ctx, rpc)
		tell := func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) } // fails only outside of gRPC
		if t == nil {
			resp, err := handler(ctx, req)
			return resp, s.shed.answer(err, tell)
		}
		var resp any
		var own error
		made := false
		err := t.Do(ctx, p, func(ctx context.Context) error {
			made = true
			resp, own = handler(ctx, req)
			return outcome(ctx, own)
		})
		if !made {
			return nil, s.shed.answer(s.refusal(err), tell)
		}
		return resp, s.shed.answer(own, tell)
	}
}

// StreamInterceptor throttles streams as [Server.UnaryInterceptor] does unary calls. The outcome of a stream is told with the first
// message that is sent, or with what the handler returns if none was; it is in flight until the handler returns.
func (s *Server) StreamInterceptor() grpc.StreamServerInterceptor {
	s.mustBeMade()
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		rpc := RPC{Method: info.FullMethod, Stream: true}
		ctx, p := s.receive(ss.Context(), rpc)
		stream := &serverStream{ServerStream: ss, ctx: ctx}
		t := s.of(ctx, rpc)
		if t == nil {
			return s.shed.answer(handler(srv, stream), ss.SetTrailer)
		}
		call, err := t.Admit(ctx, p)
		if err != nil {
			return s.shed.answer(s.refusal(err), ss.SetTrailer)
		}
		stream.ctx, stream.call = call.Context(), call
		return s.shed.answer(stream.serve(srv, handler), ss.SetTrailer)
	}
}

// receive returns the context and the priority of a call that came in.
func (s *Server) receive(ctx context.Context, rpc RPC) (context.Context, throttle.Priority) {
	ctx, p, believed := hear(ctx, s.trust)
	if before, ok := carried(ctx); ok {
		return ctx, before
	}
	if !believed && s.priority != nil {
		p = s.priority(ctx, rpc)
	}
	return throttle.WithPriority(ctx, p), p
}
