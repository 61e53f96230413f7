package throttle

import (
	"math"
	"sync"
	"time"
)

// The constants of the rule that finds a queue by the times of late calls. In a queue all of them grow, by
// the share of the calls that the backend cannot serve. If a backend only became slower, they stay as long as
// they are, or the shortest ones do.
const (
	// A stretch has at least that many late calls, and lasts for a part of T. At least a share of the calls
	// that were accepted meanwhile were late.
	leastOfStretch = 5
	stretchesPerT  = 4
	leastLate      = 0.9
	// The mean and the shortest time grow that many times in a row. From the first stretch to the last one,
	// the mean grows by at least this part of the time between them, and not by chance.
	leastRun    = 3
	leastSlope  = 0.15
	surelyGrown = 3 // standard errors
	noRun       = -1
)

// trend finds out whether the times of late calls grow.
type trend struct {
	mu                   sync.Mutex
	first, last, current stretch
	run                  int  // how often the times grew since first; noRun if not all calls were late
	grew                 bool // until take
}

// stretch sums up late calls that ended one after the other.
type stretch struct {
	began, ended           time.Duration
	n, sum, squares, least float64 // of the times in seconds
	accepted               uint64  // calls that were accepted before it
}

// add adds a call that was accepted at now, after d. It was late, because d is more than t. Accepted returns
// the number of accepted calls without this one.
func (r *trend) add(now, d, t time.Duration, accepted func() uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.current
	if s.n == 0 {
		*s = stretch{began: now, least: math.Inf(1), accepted: accepted()}
	}
	x := d.Seconds()
	s.n, s.sum, s.squares, s.least, s.ended = s.n+1, s.sum+x, s.squares+x*x, min(s.least, x), now
	if s.n < leastOfStretch || now-s.began < t/stretchesPerT {
		return
	}
	r.end(s.n >= leastLate*float64(accepted()+1-s.accepted))
	s.n = 0
}

// end compares the current stretch with those before it.
func (r *trend) end(allLate bool) {
	s := &r.current
	switch {
	case !allLate:
		r.run = noRun
		return
	case r.last.n > 0 && r.run != noRun && s.mean() > r.last.mean() && s.least > r.last.least:
		r.run++
	default:
		r.run, r.first = 0, *s
	}
	r.last = *s
	r.grew = r.grew || r.run >= leastRun && s.grewSince(&r.first)
}

// take reports whether times grew since it was called last.
func (r *trend) take() (grew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	grew, r.grew = r.grew, false
	return grew
}

// grewSince reports whether the times grew as in a queue, and not by chance.
func (s *stretch) grewSince(first *stretch) bool {
	grown := s.mean() - first.mean()
	between := (s.began + s.ended - first.began - first.ended).Seconds() / 2
	return grown >= leastSlope*between && grown >= surelyGrown*math.Sqrt(s.uncertainty()+first.uncertainty())
}

func (s *stretch) mean() float64 { return s.sum / s.n }

// uncertainty returns the square of the standard error of the mean.
func (s *stretch) uncertainty() float64 { return max(0, s.squares/s.n-s.mean()*s.mean()) / s.n }
