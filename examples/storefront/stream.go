package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
)

const (
	// sampling is how often there is a new sample.
	sampling = 250 * time.Millisecond
	// smoothing is the span that a sample looks back on: with fewer calls the rates would jump.
	smoothing = time.Second
	// maxHistory is how many samples a page begins with: two minutes.
	maxHistory = 480
	// maxViewers is how many streams may be open at once.
	maxViewers = 256
	// maxLag is how many samples a viewer may be behind.
	maxLag = 20
	// writeTimeout is how long a viewer may take to take one.
	writeTimeout = 5 * time.Second
)

// stream tells all who look at the page what happens in the shop, as server-sent events. A sample is encoded once for all.
type stream struct {
	mu      sync.Mutex
	ended   bool
	history [][]byte // encoded samples, oldest first
	viewers map[chan []byte]struct{}
}

func newStream() *stream { return &stream{viewers: map[chan []byte]struct{}{}} }

// run publishes a sample at a time, until ctx ends.
func (st *stream) run(ctx context.Context, m *shop.Meter) {
	ticker := time.NewTicker(sampling)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if data, err := json.Marshal(m.Read()); err == nil {
				st.publish(data)
			}
		}
	}
}

// publish tells a sample to all viewers. Those who are too far behind are let go: their pages come back for the history.
func (st *stream) publish(data []byte) {
	event := event("sample", data)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
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

// drop lets a viewer go. It is called with the lock held.
func (st *stream) drop(v chan []byte) {
	if _, ok := st.viewers[v]; ok {
		delete(st.viewers, v)
		close(v)
	}
}

// event returns data as a server-sent event.
func event(name string, data []byte) []byte {
	return []byte("event: " + name + "\ndata: " + string(data) + "\n\n")
}

// enter lets one more look: what has been so far comes first. There is no viewer if the stream has ended or there are too many.
func (st *stream) enter() (v chan []byte, past []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || len(st.viewers) >= maxViewers {
		return nil, nil
	}
	v = make(chan []byte, maxLag)
	st.viewers[v] = struct{}{}
	return v, event("history", append(append([]byte("["), bytes.Join(st.history, []byte(","))...), ']'))
}

func (st *stream) leave(v chan []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.drop(v)
}

// end sends everybody home.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ended = true
	for v := range st.viewers {
		st.drop(v)
	}
}

// ServeHTTP streams until the request or the stream ends, or the viewer does not keep up.
func (st *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	v, past := st.enter()
	if v == nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "storefront: no more streams can be opened now", http.StatusServiceUnavailable)
		return
	}
	defer st.leave(v)
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep the events to itself
	if st.send(w, append([]byte("retry: 1000\n"), past...)) != nil {
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

// send writes an event, and gives up on a viewer that does not take it.
func (st *stream) send(w http.ResponseWriter, event []byte) error {
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
