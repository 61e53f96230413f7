package statusz

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// stream is one client that is told of every sample.
type stream struct {
	delivery

	sampler *sampler
	at      *event // sent last
}

// serveStream sends a snapshot and then an event per sample, until the request or the page ends or the client does not
// keep up.
func (p *Page) serveStream(w http.ResponseWriter, r *http.Request) {
	s, leave, err := p.audience.enter(true, p.newSampler, p.done)
	if err != nil {
		p.refuse(w, err)
		return
	}
	defer leave()
	setStreamHeader(w.Header(), r)
	st := &stream{delivery: p.deliveryTo(w), sampler: s}
	if err := st.open(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	st.run(r.Context(), p)
}

// setStreamHeader sets what is special about the header of a stream.
func setStreamHeader(h http.Header, r *http.Request) {
	h.Set("X-Accel-Buffering", "no") // nginx would keep the events to itself
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // its deadline is not for the requests that would follow
	}
}

// open sends the header. Only a ResponseWriter that cannot flush is an error: others will say so when they are written to.
func (st *stream) open() error {
	_ = st.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := st.control.Flush(); errors.Is(err, http.ErrNotSupported) {
		return errUnsupported
	}
	return nil
}

func (st *stream) run(ctx context.Context, p *Page) {
	latest := p.first(ctx, st.sampler)
	if latest == nil {
		return
	}
	st.at = latest.event
	if st.send(latest.snapshot()) != nil {
		return
	}
	latest = nil // it holds everything; the events hold little
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.done:
			return
		case <-st.at.ready:
			st.at = st.at.next
			if st.send(st.at.data) != nil {
				return
			}
		}
	}
}

// send writes data at once.
func (st *stream) send(data []byte) error {
	if err := st.write(data, func() bool { return st.sampler.isAhead(st.at.number) }); err != nil {
		return err
	}
	return st.control.Flush()
}
