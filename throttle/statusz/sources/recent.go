package sources

import (
	"slices"
	"sync"
	"time"
)

const (
	// memory is how long snapshots are kept: rates and states are those of the last ten seconds.
	memory = 10 * time.Second
	// spacing is the shortest time between two snapshots that are kept, and for a rate.
	spacing = 500 * time.Millisecond
)

// snapshot is the Stats of a limiter or backoff at one time.
type snapshot[S any] struct {
	at    time.Time
	stats S
}

// recent keeps the snapshots of the last ten seconds. Stats count from the start of the process, so
// recent traffic is the difference of two snapshots.
type recent[S any] struct {
	mu        sync.Mutex
	snapshots []snapshot[S] // oldest first
}

// compare reads the Stats and compares them with those of an earlier snapshot: the oldest of the
// last ten seconds, or the last one if all are older. Without an earlier snapshot, it does not call
// difference. The lock is held meanwhile, so that snapshots are in order.
func (r *recent[S]) compare(read func() S, difference func(before, now *S, over time.Duration)) S {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := snapshot[S]{stats: read()}
	now.at = time.Now()
	isRecent := func(s snapshot[S]) bool { return now.at.Sub(s.at) <= memory }
	first := slices.IndexFunc(r.snapshots, isRecent)
	if first < 0 {
		first = len(r.snapshots) - 1
	}
	if first >= 0 {
		before := &r.snapshots[first]
		difference(&before.stats, &now.stats, now.at.Sub(before.at))
	}
	r.snapshots = slices.DeleteFunc(r.snapshots, func(s snapshot[S]) bool { return !isRecent(s) })
	if n := len(r.snapshots); n == 0 || now.at.Sub(r.snapshots[n-1].at) >= spacing {
		r.snapshots = append(r.snapshots, now)
	}
	return now.stats
}
