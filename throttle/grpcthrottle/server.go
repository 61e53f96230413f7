package grpcthrottle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
	"github.com/spillway-go/spillway/throttle/retry"
)

// ServerConfig configures a [Server]. Only Throttle.Name is required. [NewServer] copies it.
type ServerConfig struct {
	// Throttle configures the throttle of each key. Its Name is required. Its CanceledAfter is 1 s
	// by default; a negative value is off. See the section about calls that are cancelled late.
	Throttle throttle.Config
	// Group bounds the number of throttles.
	Group throttle.GroupConfig
	// Key returns the key of a call's throttle. Calls with the same key share one throttle, so they
	// should depend on the same resource. Default: the method. For one throttle for the whole
	// server, return "".
	Key func(context.Context, RPC) string
	// Exempt reports whether a call is served whatever its throttle decides. Stats.Exempt of the
	// throttle counts it, and nothing else does. Default [HealthCheck]. Use it for health checks only: see
	// package protocol.
	Exempt func(context.Context, RPC) bool
	// Trust decides which priority a call gets from its metadata [PriorityKey]. Its Peer can find
	// the sender with peer.FromContext. The zero Trust trusts no sender: every call is Medium. If
	// an earlier interceptor put a priority into the context, the call keeps that one.
	// Ceiling and Default must be 0 to 15.
	Trust throttle.Trust
	// Priority returns the priority of a call without a trusted one. It may return any priority,
	// High too: Trust.Ceiling does not limit it. Default: Trust.Default, at most Trust.Ceiling.
	Priority func(context.Context, RPC) throttle.Priority
	// Tenant returns on whose behalf a call is served: see [throttle.WithTenant]. Use what an earlier
	// interceptor has authenticated, not metadata that callers choose freely. The handler's context has the
	// tenant. Default: the tenant of the call's context, if an earlier interceptor put one there.
	Tenant func(context.Context, RPC) string
	// RetryAfter is the delay in the RetryInfo of a shed call, at most 1 h. Default 1 s.
	RetryAfter time.Duration
	// Pushback is the delay before the retry policy of a gRPC client may send a shed call again, at
	// most 1 h. Default, and zero: no retry, because a retry at once undoes the shed. Callers that
	// read the error can still retry.
	Pushback time.Duration
	// Tell reports whether the trailer of a call says what this server sheds, in the metadata
	// [protocol.LoadTrailer]. The balancer weighted_round_robin of gRPC, and Envoy, read it too. It shows how
	// full the server is, so do not send it to strangers. Default: to the clients that Trust.Peer accepts.
	// In ModeShadow and ModeOff nothing is sent. Do not use it together with
	// orca.CallMetricsServerOption, and let no handler pass on the report of a backend with
	// grpc.SetTrailer: clients of gRPC ignore two reports. The SetTrailer of a stream leaves it out.
	Tell func(context.Context, RPC) bool
	// LowerRetries gives a call one priority lower if its sender marks it as a retry with the
	// [AttemptsKey], so that first attempts are served first. It does not apply to a priority that a
	// trusted sender names: a [Client] lowers that itself.
	LowerRetries bool
	// RetryHooks are those of which Arrived is called for each call that its sender marks as a
	// retry. Default: retry.DefaultHooks, when NewServer is called.
	RetryHooks retry.Hooks
}

// Server throttles the calls of gRPC servers. Make one with [NewServer]. It is safe for concurrent
// use.
type Server struct {
	throttles *protocol.Throttles
	config    ServerConfig // with its defaults
	receiver  protocol.Receiver[RPC]
	loads     loadTrailers
	answer    *shedAnswer
}

// NewServer returns a server, or an error that names every field of c which is out of range. The
// methods of a nil or zero Server that return interceptors panic.
func NewServer(c ServerConfig) (*Server, error) {
	if c.Key == nil {
		c.Key = func(_ context.Context, rpc RPC) string { return rpc.Method }
	}
	if c.Exempt == nil {
		c.Exempt = HealthCheck
	}
	t, err := protocol.NewThrottles("grpcthrottle: ServerConfig", c.Throttle, c.Group, nil)
	err = errors.Join(err, checkDelay("RetryAfter", c.RetryAfter), checkDelay("Pushback", c.Pushback),
		protocol.CheckTrust("grpcthrottle: ServerConfig", c.Trust))
	if err != nil {
		return nil, err
	}
	c.RetryAfter = cmp.Or(c.RetryAfter, protocol.RetryAfter)
	if peer := c.Trust.Peer; c.Tell == nil && peer != nil {
		c.Tell = func(ctx context.Context, _ RPC) bool { return peer(ctx) }
	}
	if c.RetryHooks.Arrived == nil {
		c.RetryHooks = retry.DefaultHooks()
	}
	return &Server{
		throttles: t, config: c, answer: newShedAnswer(c.RetryAfter, c.Pushback),
		receiver: protocol.Receiver[RPC]{
			Throttle: func(ctx context.Context, rpc RPC) *throttle.Throttle { return t.Of(c.Key(ctx, rpc)) },
			Exempt:   c.Exempt, Priority: c.Priority, Tenant: c.Tenant, LowerRetries: c.LowerRetries, Arrived: c.RetryHooks.Arrived,
		},
	}, nil
}

func checkDelay(field string, d time.Duration) error {
	if d < 0 || d > protocol.MaxDelay {
		return fmt.Errorf("grpcthrottle: ServerConfig.%s is %v: want 0s to %v", field, d, protocol.MaxDelay)
	}
	return nil
}

// ServerOptions returns both interceptors as chained options. Interceptors of earlier options run
// outside of them.
func (s *Server) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.UnaryInterceptor()),
		grpc.ChainStreamInterceptor(s.StreamInterceptor()),
	}
}

// HealthCheck reports whether the method of a call is one of the service grpc.health.v1.Health.
func HealthCheck(_ context.Context, rpc RPC) bool {
	return strings.HasPrefix(rpc.Method, "/grpc.health.v1.Health/")
}

// Group returns the throttles by key, for Stats and Tune. It returns nil, a Group without throttles, for a
// nil or zero Server.
func (s *Server) Group() *throttle.Group {
	if s == nil || s.throttles == nil {
		return nil
	}
	return s.throttles.Group
}

// Close closes the throttles. Later calls are served without a throttle: they are not shed and not
// counted, and no hook is called. Calls in flight are counted to their end. Close is idempotent,
// and always returns nil.
func (s *Server) Close() error { return s.Group().Close() }

// UnaryInterceptor returns the interceptor for unary calls. The caller of a shed call gets the code
// Unavailable, a RetryInfo, and a pushback for its retry policy. If a handler returns the shed of a
// call of its own, its caller gets the same. Other errors of handlers are converted with
// [ToStatus].
func (s *Server) UnaryInterceptor() grpc.UnaryServerInterceptor {
	mustBeMade("Server", s != nil && s.throttles != nil)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		rpc := RPC{Method: info.FullMethod}
		ctx, t, p := s.receive(ctx, rpc)
		setTrailer := func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) } // fails only outside of gRPC
		if t == nil {
			resp, err := handler(ctx, req)
			return resp, s.answer.to(err, setTrailer)
		}
		var resp any
		var own error
		handled, err := false, error(throttle.ErrPanicked)
		defer func() { s.tell(ctx, t, rpc, err, setTrailer) }() // an outer interceptor may answer after a panic
		throttle.YieldProcessor()
		err = t.DoLocal(ctx, p, func(ctx context.Context) error {
			call := &protocol.Served{}
			call.Begin(ctx)
			handled = true
			resp, own = handler(call, req)
			return outcome(call, own)
		})
		if !handled {
			return nil, s.answer.to(notMade(err), setTrailer)
		}
		return resp, s.answer.to(own, setTrailer)
	}
}

// StreamInterceptor returns the interceptor for streams. It answers as [Server.UnaryInterceptor]
// does. The outcome of a stream is recorded with the first message that the handler sends, or with
// its error if it sends none. The stream is in flight until the handler returns.
func (s *Server) StreamInterceptor() grpc.StreamServerInterceptor {
	mustBeMade("Server", s != nil && s.throttles != nil)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		rpc := RPC{Method: info.FullMethod, Stream: true}
		ctx, t, p := s.receive(ss.Context(), rpc)
		stream := &serverStream{ServerStream: ss, ctx: ctx}
		if t == nil {
			return s.answer.to(handler(srv, stream), ss.SetTrailer)
		}
		throttle.YieldProcessor()
		call, err := t.AdmitLocal(ctx, p)
		if err != nil {
			s.tell(ctx, t, rpc, err, ss.SetTrailer)
			return s.answer.to(notMade(err), ss.SetTrailer)
		}
		stream.call, stream.ctx, stream.tells = call, &stream.served, s.config.Tell != nil
		stream.served.Begin(call.Context())
		stream.progress.opened(info.IsClientStream)
		err = throttle.ErrPanicked
		defer func() { s.tell(ctx, t, rpc, err, ss.SetTrailer) }()
		err = stream.serve(srv, handler)
		return s.answer.to(err, ss.SetTrailer)
	}
}

// receive returns the throttle of an incoming call, or nil if it passes none, its priority, and the context
// for its handler.
func (s *Server) receive(ctx context.Context, rpc RPC) (context.Context, *throttle.Throttle, throttle.Priority) {
	ctx, p, trusted := accept(ctx, s.config.Trust)
	return s.receiver.Receive(ctx, rpc, p, trusted, attemptOf(ctx))
}
