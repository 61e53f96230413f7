package grpcthrottle

import (
	"context"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

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
