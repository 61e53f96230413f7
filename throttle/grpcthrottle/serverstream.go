package grpcthrottle

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// serverStream is a stream that a handler serves. Its context carries the priority.
type serverStream struct {
	grpc.ServerStream

	ctx      context.Context
	call     throttle.Call
	served   protocol.Served
	progress progress
	answered bool // a message was sent
	tells    bool // the trailer may have a load report of this server
}

func (s *serverStream) Context() context.Context { return s.ctx }

// SendHeader sends the header, so that the client need not wait for the first message.
func (s *serverStream) SendHeader(md metadata.MD) error {
	err := s.ServerStream.SendHeader(md)
	if err == nil {
		s.progress.reach(answered)
	}
	return err
}

// SetTrailer adds to the trailer. On a server with Tell, it leaves out what another server says.
func (s *serverStream) SetTrailer(md metadata.MD) {
	if s.tells && len(md[protocol.LoadTrailer]) > 0 {
		md = md.Copy()
		delete(md, protocol.LoadTrailer)
	}
	s.ServerStream.SetTrailer(md)
}

// SendMsg sends a message. The first one records the outcome.
func (s *serverStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if err == nil && !s.answered {
		s.answer()
	}
	return err
}

func (s *serverStream) answer() {
	s.answered = true
	if s.served.Late() {
		s.call.Answered(outcome(&s.served, nil))
	} else {
		s.call.Answered(nil)
	}
}

// RecvMsg receives a message. After EOF the client waits for the server.
func (s *serverStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == io.EOF { //nolint:errorlint // a wrapped EOF is not the end of the messages
		s.progress.reach(waiting)
	}
	return err
}

// serve runs the handler, and ends the call even if the handler panics.
func (s *serverStream) serve(srv any, handler grpc.StreamHandler) error {
	defer s.call.Done(throttle.ErrPanicked) // has no effect after the first Done
	err := handler(srv, s)
	s.call.Done(s.progress.outcome(outcome(&s.served, err)))
	return err
}
