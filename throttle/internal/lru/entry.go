package lru

import (
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// stripes keeps an entry small: a map may have a thousand.
	stripes = 4
	// cacheLines is the size of two cache lines, because processors fetch pairs of them.
	cacheLines = 128
)

// entry is a value and its uses.
type entry[V any] struct {
	key      string
	value    V
	next     atomic.Pointer[entry[V]] // in its bucket of the table
	recorded int64                    // its place in the queue: the last use, or an earlier one
	used     useTimes
}

// useTimes has the time of the last use on each stripe. Goroutines on different stripes write to
// different cache lines, and to none that has other data.
type useTimes [stripes]struct {
	_  [cacheLines - 8]byte
	at atomic.Int64
}

func (u *useTimes) last() int64 {
	var last int64
	for i := range u {
		last = max(last, u[i].at.Load())
	}
	return last
}

func pick() int { return window.PickOf(stripes) }
