package bucket

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

const (
	shareSlots  = 256              // keys whose last answer is remembered
	shareMemory = 10 * time.Second // older counts are halved
	shareEnough = 20               // tokens that must be counted
)

// localShare is the buckets of [LocalShare] and [FailOpen], in the memory of this process. They also
// lose the tokens that the store grants to this process. So a process cannot use its tokens twice,
// once by the store and once by its share.
type localShare struct {
	*MemoryStore

	replicas int // Config.Replicas; 0 if it must be estimated; 1 for FailOpen

	mu     sync.Mutex
	last   []lastAnswer // made when needed
	mine   float64      // tokens granted to this process, since about shareMemory
	all    float64      // tokens of the same buckets that all processes took
	halved time.Time
}

// lastAnswer is the state of a bucket after the last answer of the store.
type lastAnswer struct {
	hash      uint64
	fullAt    time.Time // of a Fixed bucket: the end of its period
	remaining int64
}

func newLocalShare(c *Config) *localShare {
	s := &localShare{MemoryStore: NewMemoryStore(), replicas: c.Replicas}
	if c.OnFailure == FailOpen {
		s.replicas = 1
	}
	return s
}

func (s *localShare) of(l Limit) Limit {
	if s.replicas > 0 {
		return shareOf(l, float64(s.replicas))
	}
	return shareOf(l, s.processes())
}

// spend records an answer of the store. Afterwards no larger part of the share is left than of the store's bucket.
func (s *localShare) spend(r *store.Request, d *Decision) {
	if s.replicas == 0 {
		s.count(r, d, time.Now())
	}
	share, left := s.of(r.Limit), d.Remaining
	if share.Capacity < r.Limit.Capacity {
		left = int64(math.Ceil(float64(left) / float64(r.Limit.Capacity) * float64(share.Capacity)))
	}
	if d.Granted == 0 && left >= share.Capacity {
		return
	}
	limit, local := rated(share), Decision{}
	s.take(r.Key, &limit, 0, d.Granted, &local)
	if local.Remaining > left {
		s.take(r.Key, &limit, 0, local.Remaining-left, &local)
	}
}

// processes estimates how many processes such as this one use the buckets: the tokens that all
// processes took, by those of this one. It returns 1 until enough tokens were counted. It counts in
// steps of 9 %: a bucket can hold the state of two limits, not of one for each answer.
func (s *localShare) processes() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all < shareEnough {
		return 1
	}
	n := min(max(s.all/max(s.mine, 1), 1), maxReplicas)
	return math.Exp2(math.Round(8*math.Log2(n)) / 8)
}

// count counts the tokens that were taken from a bucket since the last answer about it.
func (s *localShare) count(r *store.Request, d *Decision, now time.Time) {
	hash := maphash.String(s.seed, r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = make([]lastAnswer, shareSlots)
	}
	slot := &s.last[hash%shareSlots]
	before := *slot
	after := lastAnswer{hash, now.Add(d.ResetAfter), d.Remaining}
	if before.hash != hash || before.fullAt.IsZero() {
		*slot = after
		return
	}
	taken := takenSince(&before, &after, &r.Limit, now)
	if taken > 0 { // or an answer has come before an earlier one, or tokens were given back
		*slot = after
	}
	if now.Sub(s.halved) > shareMemory {
		s.mine, s.all, s.halved = s.mine/2, s.all/2, now
	}
	s.mine += float64(d.Granted)
	s.all += max(0, taken)
}

// takenSince returns the tokens that were taken between two answers about a bucket. Tokens that
// were taken and refilled while the bucket was full in between are not seen.
func takenSince(before, after *lastAnswer, l *Limit, now time.Time) float64 {
	if l.Algorithm == Continuous {
		from := before.fullAt
		if from.Before(now) {
			from = now
		}
		return float64(after.fullAt.Sub(from)) / float64(l.Interval())
	}
	switch later := after.fullAt.Sub(before.fullAt); {
	case later > l.Period/2: // another period
		return float64(l.Capacity - after.remaining)
	case later < -l.Period/2: // an answer from the period before, which comes late
		return 0
	}
	return float64(before.remaining - after.remaining)
}

// shareOf returns the limit of one of n processes that share it: at least one token of capacity,
// and one token per longest period.
func shareOf(l Limit, n float64) Limit {
	if n == 1 { // a float64 cannot hold every capacity
		return l
	}
	l.Capacity = max(1, min(l.Capacity, int64(float64(l.Capacity)/n)))
	if l.Algorithm == Continuous {
		interval := min(float64(l.Interval())*n, float64(refill.MaxPeriod))
		l.Refill = 1
		if interval < float64(refill.MinPeriod) { // as the interval of a high rate, such as one of bytes
			l.Refill = int64(refill.MinPeriod)
		}
		l.Period = time.Duration(interval * float64(l.Refill))
	}
	return l.WithDefaults()
}
