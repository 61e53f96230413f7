package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// maxHistory is the number of samples that a new viewer gets first: two minutes, with four samples
	// per second.
	maxHistory = 480
	// maxViewers is the largest number of open streams.
	maxViewers = 256
	// maxLag is how many samples are queued for a viewer.
	maxLag = 20
	// writeTimeout is the longest time of one write to a viewer.
	writeTimeout = 5 * time.Second
)

// Stream sends samples to all open pages, as server-sent events. It encodes each sample once. The
// first event of a viewer is the history, an array of samples; each later one is a sample.
type Stream struct {
	mu      sync.Mutex
	closed  bool
	history [][]byte // encoded samples, oldest first
	viewers map[chan []byte]struct{}
}

// NewStream returns a stream without samples.
func NewStream() *Stream { return &Stream{viewers: map[chan []byte]struct{}{}} }

// Publish sends a sample to all viewers, and adds it to the history. A sample that JSON cannot
// express is left out.
func (st *Stream) Publish(sample any) {
	if data, err := json.Marshal(sample); err == nil {
		st.publish(data)
	}
}

// publish queues a sample for all viewers. It disconnects viewers whose queue is full; their pages
// connect again and get the history.
func (st *Stream) publish(data []byte) {
	event := event("sample", data)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	st.history = append(st.history, data)
	if excess := len(st.history) - maxHistory; excess > 0 {
		st.history = st.history[excess:]
	}
	for v := range st.viewers {
		select {
		case v <- event:
		default:
			st.drop(v)
		}
	}
}

// drop disconnects a viewer. The caller holds the lock.
func (st *Stream) drop(v chan []byte) {
	if _, ok := st.viewers[v]; ok {
		delete(st.viewers, v)
		close(v)
	}
}

// event formats data as a server-sent event.
func event(name string, data []byte) []byte {
	return []byte("event: " + name + "\ndata: " + string(data) + "\n\n")
}

// subscribe adds a viewer, and returns its queue and the event with the history. It returns nil if
// the stream is closed or has maxViewers viewers.
func (st *Stream) subscribe() (v chan []byte, history []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed || len(st.viewers) >= maxViewers {
		return nil, nil
	}
	v = make(chan []byte, maxLag)
	st.viewers[v] = struct{}{}
	return v, event("history", append(append([]byte("["), bytes.Join(st.history, []byte(","))...), ']'))
}

func (st *Stream) unsubscribe(v chan []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.drop(v)
}

// Close disconnects all viewers, and accepts no more.
func (st *Stream) Close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for v := range st.viewers {
		st.drop(v)
	}
}

// ServeHTTP streams until the request ends, the stream is closed, or the viewer is too slow.
func (st *Stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	v, history := st.subscribe()
	if v == nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many open streams, or the program is stopping: try again later", http.StatusServiceUnavailable)
		return
	}
	defer st.unsubscribe(v)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
	if st.send(w, append([]byte("retry: 1000\n"), history...)) != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case event, ok := <-v:
			if !ok || st.send(w, event) != nil {
				return
			}
		}
	}
}

// send writes an event. It returns an error if the viewer does not accept it in time.
func (st *Stream) send(w http.ResponseWriter, event []byte) error {
	control := http.NewResponseController(w)
	deadline := control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if deadline != nil && !errors.Is(deadline, http.ErrNotSupported) {
		return deadline
	}
	if _, err := w.Write(event); err != nil {
		return err
	}
	return control.Flush()
}
