package fairness

import (
	"math"
	"sync"
	"sync/atomic"
)

const (
	// histogramMemory is how long a call counts in a histogram, in ticks.
	histogramMemory = 20
	// fewCalls is the number of calls from which a fair rate is computed.
	fewCalls = 16
	// several is the first tenant of a row that had others.
	several = 2
	// idle is the number of ticks without a call after which all is forgotten.
	idle = 600
)

type shares struct {
	rows, stripes int
	fresh         []atomic.Uint32 // calls since the last tick, by stripe, row and bucket
	rates         []rate

	mu     sync.Mutex
	counts []histogram   // by row; guarded by mu
	at     atomic.Uint64 // the last tick; written under mu
	began  uint64        // the tick of the first call; guarded by mu
	scale  atomic.Uint64 // see scaleAfter; as bits
}

// rate is the fair rate of a row, for a share that is shed.
type rate struct {
	fair, shed atomic.Uint64 // as bits
	first      atomic.Uint64 // hash of the first tenant, which is odd then, or several
}

func (s *shares) init(rows, stripes int) {
	s.rows, s.stripes = rows, max(1, min(stripes, 32/rows))
	s.fresh = make([]atomic.Uint32, s.stripes*rows*numBuckets)
	s.rates, s.counts = make([]rate, rows), make([]histogram, rows)
	s.scale.Store(math.Float64bits(scaleAfter(1)))
}

// add counts calls of a tenant with a demand. Coin is random.
func (s *shares) add(row, stripe int, x float64, calls, coin uint64) {
	s.fresh[(stripe%s.stripes*s.rows+row)*numBuckets+bucketOf(x, coin)].Add(uint32(calls))
}

func (r *rate) isFor(p float64) bool { return r.shed.Load() == math.Float64bits(p) }

// rate returns the fair rate of a row; 0 if it is not known.
func (r *rate) rate() float64 { return math.Float64frombits(r.fair.Load()) }

// update computes the fair rate of a row for the share p of its calls that is to be shed. It does nothing if
// another goroutine computes one now.
func (s *shares) update(row int, p float64) {
	if !s.mu.TryLock() {
		return
	}
	s.rates[row].fair.Store(math.Float64bits(s.counts[row].fairRate(1 - p)))
	s.rates[row].shed.Store(math.Float64bits(p))
	s.mu.Unlock()
}

// collect adds the calls since the last tick to the histograms, unless another goroutine does so now.
func (s *shares) collect(at uint64) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	last := s.at.Load()
	pause := at > last+idle || hasJumpedBack(at, last)
	if at <= last && !pause {
		return
	}
	fade := float32(0)
	if !pause {
		fade = float32(math.Exp(-float64(at-last) / histogramMemory))
	}
	for row := range s.counts {
		s.rates[row].shed.Store(math.Float64bits(math.NaN())) // compute it again
		h := &s.counts[row]
		h.total = 0
		for b := range h.calls {
			n := h.calls[b] * fade
			if n < 1e-3 {
				n = 0
			}
			for stripe := range s.stripes {
				if c := &s.fresh[(stripe*s.rows+row)*numBuckets+b]; c.Load() > 0 {
					n += float32(c.Swap(0))
				}
			}
			h.calls[b] = n
			h.total += float64(n)
		}
	}
	if s.began == 0 || pause {
		s.began = at - 1
	}
	s.scale.Store(math.Float64bits(scaleAfter(at - s.began)))
	s.at.Store(at)
}

// scaleAfter returns how much larger the calls of a tenant will be, once all calls of the memory are counted.
// Otherwise each tenant would seem to grow in the first seconds, and more would be shed than is asked for.
func scaleAfter(ticks uint64) float64 { return 1 / (1 - math.Exp(-float64(ticks)/memory)) }

// demandScale returns scaleAfter the time since the first call.
func (s *shares) demandScale() float64 { return math.Float64frombits(s.scale.Load()) }

// alone reports whether a tenant is the only one of its row so far.
func (r *rate) alone(hash uint64) bool {
	hash |= 1
	first := r.first.Load()
	if first == 0 {
		r.first.CompareAndSwap(0, hash)
		first = r.first.Load()
	}
	if first != hash && first != several {
		r.first.Store(several)
	}
	return first == hash
}
