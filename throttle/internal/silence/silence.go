// Package silence keeps a log from repeating itself.
package silence

import (
	"sync"
	"time"
)

// Keeper lets one event of each kind be told at a time, and counts the others. Its zero value has told nothing yet. It is safe for
// use by many goroutines.
type Keeper[K comparable] struct {
	mu   sync.Mutex
	told map[K]*silence
}

// silence is since when nothing is told of a kind, and how much that was.
type silence struct {
	since  time.Time
	missed uint64
}

// Break reports whether to tell an event of a kind, which is when none was told for so long, and how many were not told since.
func (k *Keeper[K]) Break(kind K, now time.Time, after time.Duration) (missed uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.told[kind]
	switch {
	case s == nil:
		if k.told == nil {
			k.told = map[K]*silence{}
		}
		s = &silence{}
		k.told[kind] = s
	case now.Sub(s.since) < after:
		s.missed++
		return 0, false
	}
	missed, *s = s.missed, silence{since: now}
	return missed, true
}

// Forget forgets a kind of which nothing will happen any more.
func (k *Keeper[K]) Forget(kind K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.told, kind)
}
