package grpcthrottle

import (
	"context"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
)

// serverStream is a stream that a handler serves. Its context is that of the call, with the priority.
type serverStream struct {
	grpc.ServerStream

	ctx  context.Context
	call throttle.Call
}

// Context returns the context of the call.
func (s *serverStream) Context() context.Context { return s.ctx }

// SendMsg sends a message. The first one is the answer.
func (s *serverStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if err == nil {
		s.call.Answered(nil)
	}
	return err
}

// serve runs the handler, and ends the call however that ends.
func (s *serverStream) serve(srv any, handler grpc.StreamHandler) error {
	defer s.call.Done(throttle.ErrPanicked) // if nothing else has ended it
	err := handler(srv, s)
	s.call.Done(outcome(s.ctx, err))
	return err
}
