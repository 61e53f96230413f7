package grpcthrottle

import "sync/atomic"

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

// active reports whether a cancellation of the stream says nothing about the server: the client
// still sent, or the server had begun to answer.
func (p *progress) active() bool {
	state := p.state.Load()
	return state == sending || state == answered
}
