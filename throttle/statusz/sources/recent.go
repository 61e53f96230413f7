package sources

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/statusz"
)

const (
	// memory is how long snapshots are kept: rates and states are those of the last ten seconds.
	memory = 10 * time.Second
	// spacing is the shortest time between two snapshots that are kept, and for a rate.
	spacing = 500 * time.Millisecond
)

// change is the Stats of a member at two times. Stats count from the start of the process, so recent traffic is the
// difference.
type change[S any] struct {
	before, now S
	over        time.Duration
}

// recent returns the change, or none if it is of more than ten seconds.
func (c change[S]) recent() change[S] {
	if c.over > memory {
		return change[S]{before: c.now, now: c.now}
	}
	return c
}

// hasRate reports whether the change is of a time long enough for a rate.
func (c change[S]) hasRate() bool { return c.over >= spacing }

// perSecond returns a figure of events in the time of the change. It is missing if the time is too short.
func (c change[S]) perSecond(name string, events uint64) statusz.Figure {
	f := statusz.Figure{Name: name, Value: math.NaN(), Unit: "/s"}
	if c.hasRate() {
		f.Value = float64(events) / c.over.Seconds()
	}
	return f
}

type snapshot[S any] struct {
	at    time.Time
	stats S
}

// history keeps the snapshots of the last ten seconds.
type history[S any] struct {
	mu        sync.Mutex
	snapshots []snapshot[S] // oldest first
}

// read reads the Stats and compares them with those of an earlier snapshot: the oldest of the last ten seconds, or the last one
// if all are older. Without an earlier snapshot, there is no change. The lock is held meanwhile, so that snapshots are in order.
func (h *history[S]) read(stats func() S) change[S] {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := snapshot[S]{stats: stats()}
	now.at = time.Now()
	isRecent := func(s snapshot[S]) bool { return now.at.Sub(s.at) <= memory }
	first := slices.IndexFunc(h.snapshots, isRecent)
	if first < 0 {
		first = len(h.snapshots) - 1
	}
	before := now
	if first >= 0 {
		before = h.snapshots[first]
	}
	h.snapshots = slices.DeleteFunc(h.snapshots, func(s snapshot[S]) bool { return !isRecent(s) })
	if n := len(h.snapshots); n == 0 || now.at.Sub(h.snapshots[n-1].at) >= spacing {
		h.snapshots = append(h.snapshots, now)
	}
	return change[S]{before.stats, now.stats, now.at.Sub(before.at)}
}
