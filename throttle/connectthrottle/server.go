package connectthrottle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// ServerConfig configures a [Server]. Only Throttle.Name is required. [NewServer] copies it.
type ServerConfig struct {
	// Throttle configures the throttle of each key. Its Name is required. A CanceledAfter of zero
	// means 1 s here.
	Throttle throttle.Config
	// Group bounds the number of throttles.
	Group throttle.GroupConfig
	// Key returns the key of a call's throttle. Calls with the same key share one throttle, so they
	// should depend on the same resource. Default: the procedure. For one throttle for the whole
	// server, return "".
	Key func(context.Context, RPC) string
	// Exempt reports whether a call is served whatever its throttle decides. Stats.Exempt of the
	// throttle counts it, and nothing else does. Default [HealthCheck]. Use it for health checks only: see
	// package protocol.
	Exempt func(context.Context, RPC) bool
	// Trust decides which priority a call gets from its [PriorityHeader]. Its Peer can find what an
	// earlier interceptor or a middleware put into the context. The zero Trust trusts no sender:
	// every call is Medium. If an earlier interceptor put a priority into the context, the call
	// keeps that one.
	// Ceiling and Default must be 0 to 15.
	Trust throttle.Trust
	// Priority returns the priority of a call without a trusted one. It may return any priority,
	// High too: Trust.Ceiling does not limit it. Default: Trust.Default, at most Trust.Ceiling.
	Priority func(context.Context, RPC) throttle.Priority
	// Tenant returns on whose behalf a call is served: see [throttle.WithTenant]. Use what an earlier
	// interceptor or a middleware has authenticated, not a header that callers choose freely. The handler's
	// context has the tenant. Default: the tenant of the call's context, if one was put there.
	Tenant func(context.Context, RPC) string
	// Tell reports whether the answer to a call says what this server sheds: in the header
	// [protocol.LoadHeader], and with gRPC in the trailer [protocol.LoadTrailer]. Load balancers such as
	// Envoy read it too. It shows how full the server is, so do not send it to strangers. Default: to the
	// clients that Trust.Peer accepts. In ModeShadow and ModeOff nothing is sent.
	Tell func(context.Context, RPC) bool
	// RetryAfter is the delay in the RetryInfo and the Retry-After of a shed call, at most 1 h.
	// Default 1 s.
	RetryAfter time.Duration
}

// Server throttles the calls of connect handlers. Make one with [NewServer]. Any number of handlers
// can share it, and it is safe for concurrent use.
type Server struct {
	throttles *protocol.Throttles
	config    ServerConfig // with its defaults
	receiver  protocol.Receiver[RPC]
	loads     protocol.Loads
}

// NewServer returns a server, or an error that names every field of c which is out of range. The
// method Interceptor of a nil or zero Server panics.
func NewServer(c ServerConfig) (*Server, error) {
	if c.Key == nil {
		c.Key = func(_ context.Context, rpc RPC) string { return rpc.Spec.Procedure }
	}
	if c.Exempt == nil {
		c.Exempt = HealthCheck
	}
	t, err := protocol.NewThrottles("connectthrottle: ServerConfig", c.Throttle, c.Group, nil)
	if c.RetryAfter < 0 || c.RetryAfter > protocol.MaxDelay {
		err = errors.Join(err, fmt.Errorf("connectthrottle: ServerConfig.RetryAfter is %v: want 0s to %v", c.RetryAfter, protocol.MaxDelay))
	}
	if err = errors.Join(err, protocol.CheckTrust("connectthrottle: ServerConfig", c.Trust)); err != nil {
		return nil, err
	}
	c.RetryAfter = cmp.Or(c.RetryAfter, protocol.RetryAfter)
	if peer := c.Trust.Peer; c.Tell == nil && peer != nil {
		c.Tell = func(ctx context.Context, _ RPC) bool { return peer(ctx) }
	}
	return &Server{throttles: t, config: c, receiver: protocol.Receiver[RPC]{
		Throttle: func(ctx context.Context, rpc RPC) *throttle.Throttle { return t.Of(c.Key(ctx, rpc)) },
		Exempt:   c.Exempt, Priority: c.Priority, Tenant: c.Tenant,
	}}, nil
}

// HealthCheck reports whether the method of a call is one of the service grpc.health.v1.Health.
func HealthCheck(_ context.Context, rpc RPC) bool {
	return strings.HasPrefix(rpc.Spec.Procedure, "/grpc.health.v1.Health/")
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

// Interceptor returns the interceptor for connect.WithInterceptors. The caller of a shed call gets
// the code Unavailable with a RetryInfo and Retry-After. If a handler returns the shed of a call of
// its own, its caller gets the same. Other errors of handlers are converted with [ToError]. Clients
// pass through it unchanged.
//
// A stream is in flight until its handler returns.
func (s *Server) Interceptor() connect.Interceptor {
	if s == nil || s.throttles == nil {
		panic("connectthrottle: the Server is nil or zero: want one made with NewServer")
	}
	return serverInterceptor{s}
}

type serverInterceptor struct{ *Server }

func (s serverInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (res connect.AnyResponse, own error) {
		rpc := RPC{Spec: req.Spec(), Peer: req.Peer()}
		if rpc.Spec.IsClient {
			return next(ctx, req)
		}
		ctx, t, p := s.receive(ctx, rpc, req.Header())
		if t == nil {
			res, own = next(ctx, req)
			return res, s.answer(own)
		}
		handled, err := false, error(throttle.ErrPanicked)
		defer func() { s.tellUnary(ctx, t, rpc, res, err) }()
		throttle.YieldProcessor()
		err = t.DoLocal(ctx, p, func(ctx context.Context) error {
			handled = true
			call := &protocol.Served{}
			call.Begin(ctx)
			res, own = next(call, req)
			return outcome(call, own)
		})
		if own != nil {
			res = nil // it was a nil pointer in an interface
		}
		if !handled {
			return nil, s.answer(notMade(err))
		}
		return res, s.answer(own)
	}
}

func (serverInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler returns next with a throttle.
func (s serverInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		rpc := RPC{Spec: conn.Spec(), Peer: conn.Peer()}
		ctx, t, p := s.receive(ctx, rpc, conn.RequestHeader())
		if t == nil {
			return s.answer(next(ctx, conn))
		}
		throttle.YieldProcessor()
		call, err := t.AdmitLocal(ctx, p)
		if err != nil {
			s.tell(ctx, t, rpc, true, conn.ResponseHeader, conn.ResponseTrailer)
			return s.answer(notMade(err))
		}
		stream := &serverStream{StreamingHandlerConn: conn, server: s.Server, call: call, throttle: t, rpc: rpc}
		defer stream.tell(true)
		return s.answer(stream.serve(next))
	}
}

// receive returns the throttle of an incoming call, or nil if it passes none, its priority, and the context
// for its handler.
func (s *Server) receive(ctx context.Context, rpc RPC, h http.Header) (context.Context, *throttle.Throttle, throttle.Priority) {
	p, trusted := accept(ctx, s.config.Trust, h)
	return s.receiver.Receive(ctx, rpc, p, trusted, 1)
}

// answer returns the error to send for that of a handler or of a call that was not made.
func (s *Server) answer(err error) error {
	err = ToError(err)
	if shed, ok := err.(*shedError); ok { //nolint:errorlint // ToError has just made it
		return &shedError{shed.error, s.config.RetryAfter}
	}
	return err
}

type serverStream struct {
	connect.StreamingHandlerConn

	server   *Server
	call     throttle.Call
	throttle *throttle.Throttle
	rpc      RPC
	begun    atomic.Bool // the header was sent
	answered atomic.Bool // a message was sent
}

// Send sends a message, or only the header if m is nil.
func (s *serverStream) Send(m any) error {
	if !s.begun.Load() {
		s.tell(false)
	}
	err := s.StreamingHandlerConn.Send(m)
	if err == nil {
		s.begun.Store(true)
	}
	if err == nil && m != nil {
		s.answered.Store(true)
		answer(s.call, s.Spec())
	}
	return err
}

// serve runs the handler, and ends the call even if the handler panics.
func (s *serverStream) serve(next connect.StreamingHandlerFunc) error {
	defer s.call.Done(throttle.ErrPanicked) // has no effect after the first Done
	call := &protocol.Served{}
	call.Begin(s.call.Context())
	err := next(call, s)
	s.call.Done(streamOutcome(s.Spec(), s.answered.Load(), outcome(call, err)))
	return err
}
