package bucketz

import (
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

const (
	memory = 10 * time.Second       // what is longer ago is not now
	pace   = 500 * time.Millisecond // of what is remembered, however often somebody looks
)

// traffic is what became of requests in some time.
type traffic struct {
	over                                      time.Duration
	granted, denied, failedOpen, failedClosed uint64
}

func (t *traffic) requests() uint64 { return t.granted + t.denied + t.failedOpen + t.failedClosed }

// sight is what was seen at one time.
type sight struct {
	at    time.Time
	stats bucket.Stats
}

// recent remembers what was seen in the last seconds. A limiter counts from its beginning only: what it does now is the difference.
type recent struct {
	mu   sync.Mutex
	seen []sight // the oldest first
}

// look looks, and returns what there is and what has happened since the oldest sight that is remembered: known is whether that is long
// enough ago for a rate. The lock keeps those who look in order; limiters count without.
func (r *recent) look(read func() bucket.Stats) (now bucket.Stats, lately traffic, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, now := time.Now(), read()
	r.seen = slices.DeleteFunc(r.seen, func(s sight) bool { return at.Sub(s.at) > memory })
	if len(r.seen) > 0 {
		lately = since(&r.seen[0], &sight{at, now})
	}
	if n := len(r.seen); n == 0 || at.Sub(r.seen[n-1].at) >= pace {
		r.seen = append(r.seen, sight{at, now})
	}
	return now, lately, lately.over >= pace
}

// since returns what has happened between two sights.
func since(before, now *sight) traffic {
	return traffic{
		over:         now.at.Sub(before.at),
		granted:      now.stats.Granted - before.stats.Granted,
		denied:       now.stats.Denied - before.stats.Denied,
		failedOpen:   now.stats.FailedOpen - before.stats.FailedOpen,
		failedClosed: now.stats.FailedClosed - before.stats.FailedClosed,
	}
}
