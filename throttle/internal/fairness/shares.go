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
	// idle is the number of ticks without a call after which all is forgotten.
	idle = 600
)

// shares computes the fair rate of each row.
type shares struct {
	rows, stripes int
	fresh         []atomic.Uint32 // calls since the last tick, by stripe, row and bucket
	rates         []rate

	mu     sync.Mutex
	counts [][numBuckets]float32 // by row; guarded by mu
	at     atomic.Uint64         // the last tick; written under mu
	began  uint64                // the tick of the first call; guarded by mu
	scale  atomic.Uint64         // see scaleAfter; as bits
}

// rate is the fair rate of a row, for a share that is shed.
type rate struct {
	fair, shed atomic.Uint64 // as bits
	first      atomic.Uint64 // hash of the first tenant
	several    atomic.Bool   // there were others
}

func (s *shares) init(rows, stripes int) {
	s.rows, s.stripes = rows, max(1, min(stripes, 32/rows))
	s.fresh = make([]atomic.Uint32, s.stripes*rows*numBuckets)
	s.rates, s.counts = make([]rate, rows), make([][numBuckets]float32, rows)
}

// add counts calls of a tenant with a demand. Coin is random.
func (s *shares) add(row, stripe int, x float64, calls, coin uint64) {
	s.fresh[(stripe%s.stripes*s.rows+row)*numBuckets+bucketOf(x, coin)].Add(uint32(calls))
}

// fair returns the fair rate of a row if the share p of its calls is to be shed; 0 if it is not known.
func (s *shares) fair(row int, at uint64, p float64) float64 {
	r := &s.rates[row]
	due := at > s.at.Load()
	if (due || r.shed.Load() != math.Float64bits(p)) && s.mu.TryLock() {
		if due {
			s.collect(at)
		}
		r.fair.Store(math.Float64bits(s.solve(row, p)))
		r.shed.Store(math.Float64bits(p))
		s.mu.Unlock()
	}
	return math.Float64frombits(r.fair.Load())
}

// collect adds the calls since the last tick to the histograms.
func (s *shares) collect(at uint64) {
	fade := float32(math.Exp(-float64(at-s.at.Load()) / histogramMemory))
	for row := range s.counts {
		s.rates[row].shed.Store(math.Float64bits(math.NaN())) // compute it again
		for b := range s.counts[row] {
			n := s.counts[row][b] * fade
			if n < 1e-3 {
				n = 0
			}
			for stripe := range s.stripes {
				if c := &s.fresh[(stripe*s.rows+row)*numBuckets+b]; c.Load() > 0 {
					n += float32(c.Swap(0))
				}
			}
			s.counts[row][b] = n
		}
	}
	if s.began == 0 || at-s.at.Load() > idle {
		s.began = at - 1
	}
	s.scale.Store(math.Float64bits(scaleAfter(at - s.began)))
	s.at.Store(at)
}

// scaleAfter returns how much larger the calls of a tenant will be, once all calls of the memory are counted.
// Otherwise each tenant would seem to grow in the first seconds, and more would be shed than is asked for.
func scaleAfter(ticks uint64) float64 { return 1 / (1 - math.Exp(-float64(ticks)/memory)) }

// demandScale returns scaleAfter the time since the first call.
func (s *shares) demandScale() float64 {
	if bits := s.scale.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return scaleAfter(1)
}

// solve returns the fair rate of a row, or 0 if there are too few calls.
func (s *shares) solve(row int, p float64) float64 {
	sum := float32(0)
	for _, n := range s.counts[row] {
		sum += n
	}
	if sum < fewCalls {
		return 0
	}
	return fairRate(s.counts[row][:], 1-p)
}

// alone reports whether a tenant is the only one of its row so far.
func (r *rate) alone(hash uint64) bool {
	if r.several.Load() {
		return false
	}
	hash |= 1
	first := r.first.Load()
	if first == 0 && r.first.CompareAndSwap(0, hash) || first == hash {
		return true
	}
	if first == 0 && r.first.Load() == hash {
		return true
	}
	r.several.Store(true)
	return false
}
