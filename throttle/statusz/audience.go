package statusz

import (
	"errors"
	"sync"
	"time"
)

const (
	// maxStreams is how many streams may be open at once.
	maxStreams = 256
	// maxAnswers is how many pages and JSON documents may be on their way at once. Each may be one of its own.
	maxAnswers = 256
)

var (
	errClosed      = errors.New("statusz: the page is closed")
	errBusy        = errors.New("statusz: 256 answers are on their way, which is all there are")
	errFull        = errors.New("statusz: 256 streams are open, which is all there are")
	errUnsupported = errors.New("statusz: events cannot pass here: what wraps the http.ResponseWriter must have Flush or Unwrap")
	errTooSlow     = errors.New("statusz: the client reads too slowly")
)

// audience knows who looks, and has somebody sample for them.
type audience struct {
	mu      sync.Mutex
	ended   bool
	looking int       // requests and streams under way
	streams int       // streams among them
	answers int       // pages and JSON documents on their way
	left    time.Time // when the last one ended
	sampler *sampler  // nil while nobody has looked for long
}

// refusal returns why nobody else could have a stream now, or else another answer; nil if he could.
func (a *audience) refusal(stream bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return errClosed
	case stream && a.streams >= maxStreams:
		return errFull
	case !stream && a.answers >= maxAnswers:
		return errBusy
	}
	return nil
}

// enter lets one more look. The first one starts the sampler that fresh returns; leave must be called at the end.
func (a *audience) enter(stream bool, fresh func() *sampler, done <-chan struct{}) (s *sampler, leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return nil, nil, errClosed
	case stream && a.streams >= maxStreams:
		return nil, nil, errFull
	}
	a.looking++
	if stream {
		a.streams++
	}
	if a.sampler == nil {
		a.sampler = fresh()
		go a.sampler.run(done, a.over)
	}
	return a.sampler, func() { a.leave(stream) }, nil
}

// answer lets one more page or document be on its way; leave must be called at the end.
func (a *audience) answer() (leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers >= maxAnswers {
		return nil, errBusy
	}
	a.answers++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.answers--
	}, nil
}

func (a *audience) leave(stream bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looking--
	if stream {
		a.streams--
	}
	a.left = time.Now()
}

// over reports whether nobody has looked for long. Then the sampler is let go, with its history.
func (a *audience) over(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looking > 0 || now.Sub(a.left) < memory {
		return false
	}
	a.sampler = nil
	return true
}

// end sends everybody home.
func (a *audience) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.sampler = nil
}
