package backoffz

import (
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
)

const (
	memory = 10 * time.Second       // what is longer ago is not now
	pace   = 500 * time.Millisecond // of what is remembered, however often somebody looks
)

// traffic is what became of calls in some time.
type traffic struct {
	over                          time.Duration
	successes, throttled, ignored uint64
}

func (t *traffic) calls() uint64 { return t.successes + t.throttled + t.ignored }

// telling reports whether there was a call that says something about the rate.
func (t *traffic) telling() bool { return t.successes+t.throttled > 0 }

// sight is what was seen at one time.
type sight struct {
	at    time.Time
	stats backoff.Stats
}

// view is what somebody sees who looks.
type view struct {
	now    backoff.Stats
	lately traffic
	known  bool    // lately is long enough for a rate
	told   traffic // lately, or what was so when there was a call last: with a long delay calls are rare
}

// recent remembers what was seen in the last seconds. A backoff counts from its beginning only: what it does now is the difference.
type recent struct {
	mu   sync.Mutex
	seen []sight // the oldest first
	told traffic
}

// look looks, and returns what there is and what has happened since the oldest sight that is remembered. The lock keeps those who look in
// order; backoffs count without.
func (r *recent) look(read func() backoff.Stats) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := view{now: read()}
	at := time.Now()
	before := len(r.seen) - 1 // the last sight, which counts if all are too old
	for i, s := range r.seen {
		if at.Sub(s.at) <= memory {
			before = i
			break
		}
	}
	if before >= 0 {
		since := since(&r.seen[before], &sight{at, v.now})
		if since.telling() {
			r.told = since
		}
		if since.over <= memory {
			v.lately, v.known = since, since.over >= pace
		}
	}
	v.told = r.told
	r.remember(sight{at, v.now})
	return v
}

// remember keeps a sight, unless there was one just now, and forgets those that are too old.
func (r *recent) remember(s sight) {
	r.seen = slices.DeleteFunc(r.seen, func(old sight) bool { return s.at.Sub(old.at) > memory })
	if n := len(r.seen); n == 0 || s.at.Sub(r.seen[n-1].at) >= pace {
		r.seen = append(r.seen, s)
	}
}

// since returns what has happened between two sights.
func since(before, now *sight) traffic {
	return traffic{
		over:      now.at.Sub(before.at),
		successes: now.stats.Successes - before.stats.Successes,
		throttled: now.stats.Throttled - before.stats.Throttled,
		ignored:   now.stats.Ignored - before.stats.Ignored,
	}
}
