package grpcthrottle

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/deixis/faults"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// clientOutcome returns the error that the throttle classifies for the error of a client's call. An
// EOF without a status is a rejection. gRPC loses the status if its last retry ends while sending,
// and it retries only calls that the backend could not serve. Trailer is that of the call, or nil.
func clientOutcome(err error, trailer *metadata.MD) error {
	if errors.Is(err, io.EOF) && !hasStatus(err) && throttle.FaultOf(err) == throttle.FaultOther {
		return faults.WithUnavailable(err, 0)
	}
	return fromStatus(err, trailer)
}

// outcome returns the error that the throttle of a server classifies for the error of a handler that
// ends now.
func outcome(s *protocol.Served, err error) error {
	recorded := s.Outcome(FromStatus(err))
	if abandoned, ok := recorded.(*protocol.AbandonedError); ok { //nolint:errorlint // Outcome has just made it
		return abandonedError{abandoned}
	}
	return recorded
}

type abandonedError struct{ *protocol.AbandonedError }

func (e abandonedError) Unwrap() error              { return e.AbandonedError }
func (e abandonedError) GRPCStatus() *status.Status { return status.FromContextError(e.Cause) }

// The states of a progress. They only increase.
const (
	opening  = iota // the stream does not exist yet
	sending         // the client may still send
	waiting         // the client has sent everything
	answered        // the server has sent its header
)

// progress is how far a stream has come that has no message from the server yet.
type progress struct{ state atomic.Uint32 }

func (p *progress) opened(clientStreams bool) {
	if clientStreams {
		p.reach(sending)
	} else {
		p.reach(waiting)
	}
}

func (p *progress) reach(state uint32) {
	for {
		old := p.state.Load()
		if old >= state || p.state.CompareAndSwap(old, state) {
			return
		}
	}
}

// outcome returns the error that the throttle classifies for a stream that ends with err. A cancellation
// says nothing about the server while the client still sends, and after the server has begun to answer.
func (p *progress) outcome(err error) error {
	state := p.state.Load()
	active := state == sending || state == answered
	if active && throttle.DefaultClassify(context.Background(), err) == throttle.Ignored {
		return protocol.Ignore(err)
	}
	return err
}
