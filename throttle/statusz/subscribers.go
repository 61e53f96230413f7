package statusz

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxStreams is the limit of open streams.
	maxStreams = 256
	// maxResponses is the limit of pages and JSON documents in flight. Each may hold an encoded
	// document of its own in memory.
	maxResponses = 256
	// idleTimeout is how long sampling goes on after the last subscriber has left.
	idleTimeout = 5 * time.Minute
)

var (
	errClosed          = errors.New("statusz: the page is closed")
	errTooManyRequests = fmt.Errorf("statusz: too many concurrent requests (limit %d)", maxResponses)
	errTooManyStreams  = fmt.Errorf("statusz: too many open streams (limit %d)", maxStreams)
	errNoFlush         = errors.New("statusz: streaming is not supported: the http.ResponseWriter has neither Flush nor Unwrap")
	errTooSlow         = errors.New("statusz: the client reads too slowly")
)

// subscribers counts requests and streams, and runs the sampler while there are any.
type subscribers struct {
	mu         sync.Mutex
	closed     bool
	active     int       // JSON requests and streams
	streams    int       // open streams, part of active
	responses  int       // pages and JSON documents in flight
	lastActive time.Time // when the last subscriber left
	sampler    *sampler  // nil while no sampling goes on
}

// check returns the error with which another stream, or another document, would be refused now.
func (s *subscribers) check(stream bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case stream && s.streams >= maxStreams:
		return errTooManyStreams
	case !stream && s.responses >= maxResponses:
		return errTooManyRequests
	}
	return nil
}

// subscribe returns the running sampler. The first subscriber starts the one that newSampler
// returns. The caller must call unsubscribe at the end.
func (s *subscribers) subscribe(
	stream bool, newSampler func() *sampler, done <-chan struct{},
) (current *sampler, unsubscribe func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, errClosed
	case stream && s.streams >= maxStreams:
		return nil, nil, errTooManyStreams
	}
	s.active++
	if stream {
		s.streams++
	}
	if s.sampler == nil {
		s.sampler = newSampler()
		go s.sampler.run(done, s.idle)
	}
	return s.sampler, func() { s.unsubscribe(stream) }, nil
}

func (s *subscribers) unsubscribe(stream bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if stream {
		s.streams--
	}
	s.lastActive = time.Now()
}

// beginResponse counts a page or JSON document in flight. The caller must call end.
func (s *subscribers) beginResponse() (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.responses >= maxResponses {
		return nil, errTooManyRequests
	}
	s.responses++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.responses--
	}, nil
}

// idle reports whether the last subscriber left at least idleTimeout ago. If so, it drops the
// sampler and with it the history.
func (s *subscribers) idle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active > 0 || now.Sub(s.lastActive) < idleTimeout {
		return false
	}
	s.sampler = nil
	return true
}

func (s *subscribers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.sampler = nil
}
