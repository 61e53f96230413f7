// Package ratelimitlog limits how often a log repeats a message.
package ratelimitlog

import (
	"sync"
	"time"
)

// Every allows one message per kind and interval, and counts those it suppresses. The zero value is
// ready for use. All methods are safe for concurrent use.
type Every[K comparable] struct {
	mu    sync.Mutex
	kinds map[K]*history
}

// history is the last message of one kind.
type history struct {
	last       time.Time
	suppressed uint64 // since last
}

// Allow reports whether to log a message of a kind at now: if the last one was logged at least
// interval ago, or never. It returns how many were suppressed since then.
func (e *Every[K]) Allow(kind K, now time.Time, interval time.Duration) (suppressed uint64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.kinds[kind]
	switch {
	case h == nil:
		if e.kinds == nil {
			e.kinds = map[K]*history{}
		}
		h = &history{}
		e.kinds[kind] = h
	case now.Sub(h.last) < interval:
		h.suppressed++
		return 0, false
	}
	suppressed, *h = h.suppressed, history{last: now}
	return suppressed, true
}

// Forget drops the history of a kind that will not be logged again.
func (e *Every[K]) Forget(kind K) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.kinds, kind)
}
