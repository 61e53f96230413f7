package bucket

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket/internal/refill"
)

// frozen is the value of memoryBucket.full if that field does not hold the state of the bucket. It
// is further in the future than any bucket.
const frozen = math.MaxInt64

// memoryBucket is one bucket. The state of a Continuous bucket is one word, and a take is one
// compare-and-swap of it. All else that takes of a key share is only read. So takes of one key are
// limited by how fast that word moves between processors. It has a cache line of its own.
//
// Any other state is read and changed with the lock of the shard. The word is then frozen.
type memoryBucket struct {
	key  string
	hash uint64
	next atomic.Pointer[memoryBucket] // in the list of the shard
	_    [32]byte

	full  atomic.Int64 // when the bucket will be full, or frozen
	state refill.State // while frozen
	rate  refill.Rate  // of the last Fixed limit
}

// take takes tokens of a Continuous bucket without the lock. It returns false if it needs the lock.
//
// Another caller may have read the clock later than this one, and have emptied the bucket before.
// At the time now, the bucket would then look too far in the future and be corrected, and the
// difference could be spent twice. So take reads the clock again. That is later than the times of
// all takes before it. If the bucket is still too far in the future, its limit has become faster.
func (b *memoryBucket) take(s *MemoryStore, rate *refill.Rate, now, atLeast, atMost int64, d *Decision) bool {
	for {
		at := b.full.Load()
		if rate.Ahead(at, now) {
			if now = s.now(); rate.Ahead(at, now) {
				return false
			}
		}
		state := refill.State{At: at}
		decide(rate, &state, now, atLeast, atMost, d)
		if b.swap(at, state.At) {
			return true
		}
	}
}

// swap stores when the bucket will be full. It returns false if another take has changed that
// meanwhile. A take that changes nothing, such as a denied one, stores nothing.
func (b *memoryBucket) swap(before, after int64) bool {
	return before == after || b.full.CompareAndSwap(before, after)
}

// decide takes tokens, and writes all of the decision but its Limit.
func decide(rate *refill.Rate, state *refill.State, now, atLeast, atMost int64, d *Decision) {
	allowed, granted, remaining, retry, reset := rate.Take(state, now, atLeast, atMost)
	d.Allowed, d.Granted, d.Remaining = allowed, granted, remaining
	d.RetryAfter, d.ResetAfter = time.Duration(retry), time.Duration(reset)
}

// freeze returns the state, which only the caller can change until thaw. The caller must hold the
// lock, and must read the clock afterwards. That is later than the times of all takes before it.
func (b *memoryBucket) freeze() refill.State {
	if at := b.full.Swap(frozen); at != frozen {
		return refill.State{At: at}
	}
	return b.state
}

// thaw stores the state after a request with a limit. It stays frozen if it is not one word.
func (b *memoryBucket) thaw(state refill.State, limit *ratedLimit) {
	if limit.Algorithm == Continuous && state.Used == 0 {
		b.full.Store(state.At)
		return
	}
	b.state = state
	if limit.Algorithm == Fixed {
		b.rate = limit.rate
	}
}

// retire reports whether the bucket is full. If so, it stays frozen: a caller that found it before
// can take nothing. The caller must hold the lock.
func (b *memoryBucket) retire(now int64) bool {
	at := b.full.Load()
	if at == frozen {
		return b.rate.Full(&b.state, now)
	}
	return at <= now && b.full.CompareAndSwap(at, frozen)
}
