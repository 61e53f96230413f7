package statusz

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// writeTimeout is the time in which a client must take one chunk.
	writeTimeout = 10 * time.Second
	// chunkSize is the most that is written under one deadline, so that a slow connection is not
	// taken for a dead one.
	chunkSize = 64 << 10
)

// chunkWriter writes to a client that may read slowly or not at all.
type chunkWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	done    <-chan struct{} // closed with the page
}

func (p *Page) newChunkWriter(w http.ResponseWriter) chunkWriter {
	return chunkWriter{w: w, control: http.NewResponseController(w), done: p.done}
}

// write writes data in chunks. It returns an error if the client does not take a chunk in time, if
// the page is closed, or if late returns true. Late is called before each chunk; nil means never
// late.
func (c chunkWriter) write(data []byte, late func() bool) error {
	for len(data) > 0 {
		chunk := data[:min(len(data), chunkSize)]
		data = data[len(chunk):]
		if err := c.check(late); err != nil {
			return err
		}
		// Writers without deadlines return an error here. Their server's timeouts apply.
		_ = c.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := c.w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if nothing more may be written.
func (c chunkWriter) check(late func() bool) error {
	select {
	case <-c.done:
		return errClosed
	default:
	}
	if late != nil && late() {
		return errTooSlow
	}
	return nil
}

// stream is one client of the event stream.
type stream struct {
	chunkWriter

	sampler *sampler
	last    *event // sent last
}

// serveStream sends a snapshot and then one event per sample. It returns when the request or the
// page ends, or when the client reads too slowly.
func (p *Page) serveStream(w http.ResponseWriter, r *http.Request) {
	s, unsubscribe, err := p.subscribers.subscribe(true, p.newSampler, p.done)
	if err != nil {
		unavailable(w, err)
		return
	}
	defer unsubscribe()
	setStreamHeader(w.Header(), r)
	st := &stream{chunkWriter: p.newChunkWriter(w), sampler: s}
	if err := st.open(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	st.run(r.Context(), p)
}

// setStreamHeader sets the headers that only streams have.
func setStreamHeader(h http.Header, r *http.Request) {
	h.Set("X-Accel-Buffering", "no") // or nginx buffers the events
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // the write deadlines must not apply to a later request
	}
}

// open sends the header. It returns an error only if the ResponseWriter cannot flush. Other errors
// return with the first write.
func (st *stream) open() error {
	_ = st.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := st.control.Flush(); errors.Is(err, http.ErrNotSupported) {
		return errNoFlush
	}
	return nil
}

func (st *stream) run(ctx context.Context, p *Page) {
	latest := p.firstSample(ctx, st.sampler)
	if latest == nil {
		return
	}
	st.last = latest.event
	if st.send(latest.snapshot()) != nil {
		return
	}
	latest = nil // frees the snapshot, which is much larger than an event
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.done:
			return
		case <-st.last.ready:
			st.last = st.last.next
			if st.send(st.last.data) != nil {
				return
			}
		}
	}
}

func (st *stream) send(data []byte) error {
	if err := st.write(data, func() bool { return st.sampler.lagsBehind(st.last.number) }); err != nil {
		return err
	}
	return st.control.Flush()
}
