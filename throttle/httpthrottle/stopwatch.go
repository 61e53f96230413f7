package httpthrottle

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// stopwatch measures how long the client of a request has waited. It is the request's body too, and
// starts again with each read: a client that sends slowly does not wait. Without a limit it is off.
type stopwatch struct {
	io.ReadCloser
	base   time.Time // of the middleware; to read the time since then takes half as long as to read the time
	limit  time.Duration
	began  time.Duration // since base
	read   atomic.Int64  // time of the last read since began, in ns
	midway atomic.Bool   // the body was read, but not to its end or an error
}

func (s *stopwatch) start(body io.ReadCloser, base time.Time, limit time.Duration) io.ReadCloser {
	s.ReadCloser, s.base, s.limit, s.began = body, base, limit, time.Since(base)
	if body == nil || body == http.NoBody {
		return body
	}
	return s
}

func (s *stopwatch) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.read.Store(int64(s.elapsed()))
	s.midway.Store(err == nil)
	return n, err
}

func (s *stopwatch) long() bool {
	return s.limit > 0 && s.elapsed()-time.Duration(s.read.Load()) >= s.limit
}

func (s *stopwatch) elapsed() time.Duration { return time.Since(s.base) - s.began }
