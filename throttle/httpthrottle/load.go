package httpthrottle

import (
	"net/http"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/protocol"
)

// loadHeader says what a server sheds, in the header of a response. The zero loadHeader leaves the header as
// it is.
type loadHeader struct {
	throttle *throttle.Throttle // nil to say nothing
	loads    *protocol.Loads
}

func (m *middleware) tellLoad(t *throttle.Throttle, r *http.Request) loadHeader {
	if m.Tell == nil {
		return loadHeader{}
	}
	if !m.Tell(r) {
		t = nil
	}
	return loadHeader{t, m.loads}
}

// set sets the header as late as possible, so that it is fresh. It replaces or removes the header of another
// server that a proxy forwards. Failed means that the answer says that the call failed, or that its trailer may.
func (l loadHeader) set(h http.Header, failed bool) {
	if l.loads == nil {
		return
	}
	if l.throttle != nil {
		if values := l.loads.Header(l.throttle, failed); values != nil {
			h[protocol.LoadHeader] = values
			return
		}
	}
	delete(h, protocol.LoadHeader)
}

// receive gives what a server says in a response to the throttle of the request, if Listen allows it.
func (t *Transport) receive(th *throttle.Throttle, r *http.Request, response *http.Response) {
	if t.config.Listen == nil {
		return
	}
	if values := response.Header[protocol.LoadHeader]; len(values) > 0 && t.config.Listen(r) {
		protocol.ReceiveLoad(th, values)
	}
}
