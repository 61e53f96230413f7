package connectthrottle

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// clientStream is a stream of a client. Send and CloseRequest are its write side, which begins the
// call: connect sends nothing before. The read side waits for it.
type clientStream struct {
	connect.StreamingClientConn

	client   *Client
	ctx      streamContext
	begun    chan struct{} // closed when the fields below are set
	refused  error         // the call was not made
	call     throttle.Call
	throttle *throttle.Throttle
	rpc      RPC
	forget   func() bool // stops the watch of the context
	answered atomic.Bool
}

// begin decides about the call at its first use. It returns the error of a call that is not made.
func (s *clientStream) begin() error {
	if s.hasBegun() {
		return s.refused
	}
	defer close(s.begun)
	ctx, rpc := s.ctx.Context, RPC{Spec: s.Spec(), Peer: s.Peer()}
	p := s.client.prepare(ctx, rpc, s.RequestHeader())
	t := s.client.throttles.Of(s.client.config.Key(ctx, rpc))
	if t == nil {
		return nil
	}
	call, err := t.Admit(ctx, p)
	if err != nil {
		s.refused = s.client.notMade(ctx, err)
		return s.refused
	}
	hooked := call.Context()
	s.call, s.throttle, s.rpc = call, t, rpc
	s.ctx.hooked.Store(&hooked)
	s.forget = context.AfterFunc(ctx, func() { s.done(ctx.Err()) })
	return nil
}

func (s *clientStream) hasBegun() bool {
	select {
	case <-s.begun:
		return true
	default:
		return false
	}
}

func (s *clientStream) wait() (begun bool) {
	select {
	case <-s.begun:
		return true
	case <-s.ctx.Done():
		return s.hasBegun()
	}
}

// Send sends a message. An error other than EOF ends the call. After EOF, Receive returns the error
// of the server.
func (s *clientStream) Send(m any) error {
	if err := s.begin(); err != nil {
		return err
	}
	err := s.StreamingClientConn.Send(m)
	if err != nil && !errors.Is(err, io.EOF) {
		s.end(err)
	}
	return err
}

func (s *clientStream) CloseRequest() error {
	if err := s.begin(); err != nil {
		return err
	}
	return s.StreamingClientConn.CloseRequest()
}

// Receive receives a message. Its error ends the call.
func (s *clientStream) Receive(m any) error {
	begun := s.wait()
	if begun && s.refused != nil {
		return s.refused
	}
	err := s.StreamingClientConn.Receive(m)
	switch {
	case !begun: // the context has ended
	case err == nil:
		s.answer()
	case errors.Is(err, io.EOF):
		defer s.end(nil) // also if Listen panics
		// With Connect the report is in the header, also without a message. With gRPC-Web such a header is in
		// the trailer too.
		if !s.answered.Load() && s.Peer().Protocol == connect.ProtocolConnect {
			s.receive(s.StreamingClientConn.ResponseHeader)
		}
		s.receive(s.StreamingClientConn.ResponseTrailer)
	default:
		defer s.end(err)
		if s.answered.Load() { // the error has the header too, which was received
			s.receive(s.StreamingClientConn.ResponseTrailer)
		} else if s.throttle != nil {
			s.client.receiveError(s.ctx.Context, s.throttle, s.rpc, err)
		}
	}
	return err
}

func (s *clientStream) receive(header func() http.Header) {
	if s.throttle != nil && s.client.config.Listen != nil {
		s.client.receive(s.ctx.Context, s.throttle, s.rpc, header())
	}
}

func (s *clientStream) ResponseHeader() http.Header {
	if s.wait() && s.refused != nil {
		return http.Header{} // connect would wait for the end of the context
	}
	return s.StreamingClientConn.ResponseHeader()
}

func (s *clientStream) ResponseTrailer() http.Header {
	if s.wait() && s.refused != nil {
		return http.Header{}
	}
	return s.StreamingClientConn.ResponseTrailer()
}

// CloseResponse ends the call: the caller reads no further messages.
func (s *clientStream) CloseResponse() error {
	if s.hasBegun() {
		if s.refused != nil {
			return nil
		}
		s.end(context.Canceled)
	}
	return s.StreamingClientConn.CloseResponse()
}

func (s *clientStream) answer() {
	if !s.answered.Swap(true) {
		s.receive(s.StreamingClientConn.ResponseHeader)
	}
	answer(s.call, s.Spec())
}

// end ends the call. Only the first end counts.
func (s *clientStream) end(err error) {
	if s.forget != nil {
		s.forget()
	}
	s.done(err)
}

func (s *clientStream) done(err error) {
	err = FromError(err)
	protocol.Report(s.ctx.Context, err)
	s.call.Done(streamOutcome(s.Spec(), s.answered.Load(), err))
}

// streamContext is the context of a stream. Connect needs it before the call begins. From then on
// it has the values of the context that the Started hook returned.
type streamContext struct {
	context.Context

	hooked atomic.Pointer[context.Context]
}

func (c *streamContext) Value(key any) any {
	if hooked := c.hooked.Load(); hooked != nil {
		return (*hooked).Value(key)
	}
	return c.Context.Value(key)
}
