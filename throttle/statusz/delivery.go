package statusz

import (
	"net/http"
	"time"
)

const (
	// writeTimeout is how long a piece of an answer may take to be taken.
	writeTimeout = 10 * time.Second
	// pieceSize is how much is written at once, so that a slow line is not taken for a dead one.
	pieceSize = 64 << 10
)

// delivery is the way to a client, who may not take what it is sent.
type delivery struct {
	w       http.ResponseWriter
	control *http.ResponseController
	done    <-chan struct{} // the page's
}

func (p *Page) deliveryTo(w http.ResponseWriter) delivery {
	return delivery{w: w, control: http.NewResponseController(w), done: p.done}
}

// write writes data in pieces. It gives up on a client that does not take one, and on all when the page ends. Late is asked before each
// piece whether the client has had its time; nil never says so.
func (d delivery) write(data []byte, late func() bool) error {
	for len(data) > 0 {
		piece := data[:min(len(data), pieceSize)]
		data = data[len(piece):]
		if err := d.over(late); err != nil {
			return err
		}
		_ = d.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // without one, a dead client is found by its connection
		if _, err := d.w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// over returns why nothing more is written, if so.
func (d delivery) over(late func() bool) error {
	select {
	case <-d.done:
		return errClosed
	default:
	}
	if late != nil && late() {
		return errTooSlow
	}
	return nil
}
