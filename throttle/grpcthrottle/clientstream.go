package grpcthrottle

import (
	"io"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/throttle"
)

// clientStream is a stream whose call is in flight. There is no goroutine to watch it: gRPC tells when it is over.
type clientStream struct {
	grpc.ClientStream

	call throttle.Call
	room [4]grpc.CallOption // for the options of most calls
}

// options returns the options of the call, and one more by which gRPC tells the end. The caller's slice is left as it is.
func (s *clientStream) options(opts []grpc.CallOption) []grpc.CallOption {
	return append(append(s.room[:0], opts...), grpc.OnFinish(s.end))
}

// RecvMsg receives a message. The first one is the answer.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		s.call.Answered(nil)
		return nil
	}
	if err == io.EOF { //nolint:errorlint // an EOF inside of another error is not the good end
		s.end(nil)
	} else {
		s.end(err)
	}
	return err
}

// SendMsg sends a message. An error other than EOF is the end; after an EOF the status is still to be received.
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && err != io.EOF { //nolint:errorlint // after an EOF inside of another error there is nothing to receive
		s.end(err)
	}
	return err
}

// end ends the call. The first end counts: gRPC tells it, and an interceptor between us and gRPC may have kept it from telling.
func (s *clientStream) end(err error) {
	s.call.Done(ended(err))
}
