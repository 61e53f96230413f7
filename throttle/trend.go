package throttle

import (
	"math"
	"sync"
	"time"
)

// The constants of the rules that find a queue by late calls. In a queue all times grow, by the share of the
// calls that the backend cannot serve. If a backend only became slower, they stay as long as they are, or the
// shortest ones do. And a backend that is full of more calls than usual ends as many as usual, while more and
// more are open. One that became slower ends hardly any at first, and then as many as begin.
const (
	// A stretch has at least that many late calls, and lasts for a part of T. At least a share of the calls
	// that were accepted meanwhile were late.
	leastOfStretch = 5
	stretchesPerT  = 4
	leastLate      = 0.9
	// The mean and the shortest time grow that many times in a row. From the first stretch to the last one,
	// the mean grows by at least this part of the time between them, and not by chance.
	leastRun     = 3
	leastSlope   = 0.15
	surelyGrown  = 3   // standard errors
	probablyMore = 0.7 // standard errors of the open calls that are more than those of the first stretch
	noRun        = -1
	// While all calls were late, this share of the usual ones ended at least, and the open ones became more by
	// that share of those, and not by chance.
	leastEnded, leastMore = 0.75, 0.3
	surelyMore            = 3.2 // standard errors, because each stretch is a test
)

// trend finds out whether the times of late calls grow.
type trend struct {
	mu                   sync.Mutex
	first, last, current stretch
	run                  int           // how often the times grew since first; noRun if not all calls were late
	lateAt               census        // since then all calls were late
	looked               time.Duration // when it last compared the late calls with all
	grew                 bool          // until take
}

// census is how many calls were accepted until a time, and how many were open then.
type census struct {
	at       time.Duration
	accepted uint64
	open     int64
}

// stretch sums up late calls that ended one after the other.
type stretch struct {
	began                  census // without its first call
	ended                  time.Duration
	n, sum, squares, least float64 // of the times in seconds
}

// add adds a call that was accepted after d. It was late, because d is more than t. Count returns the present
// numbers of calls, without this one. Usual is the number of calls per second that are accepted otherwise.
func (r *trend) add(now, d, t time.Duration, usual float64, count func() census) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.current
	if s.n == 0 {
		*s = stretch{began: count(), least: math.Inf(1)}
		r.looked = now
		if r.lateAt.at == 0 {
			r.lateAt = s.began
		}
	}
	x := d.Seconds()
	s.n, s.sum, s.squares, s.least, s.ended = s.n+1, s.sum+x, s.squares+x*x, min(s.least, x), now
	if now-r.looked < t/stretchesPerT {
		return
	}
	c := count()
	r.looked = now
	allLate := s.n >= leastLate*float64(c.accepted+1-s.began.accepted)
	r.grew = r.grew || allLate && c.fellBehind(&r.lateAt, usual)
	if !allLate || s.n >= leastOfStretch {
		r.end(allLate)
		s.n = 0
	}
}

// end compares the current stretch with those before it.
func (r *trend) end(allLate bool) {
	s := &r.current
	switch {
	case !allLate:
		r.run, r.lateAt = noRun, census{}
		return
	case r.run == noRun || r.last.n == 0:
		r.run, r.first = 0, *s
	case s.mean() > r.last.mean() && s.least > r.last.least:
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

// grewSince reports whether the times grew as in a queue, and not by chance. More calls are open in a queue that grows,
// but not if the callers only wait longer for what is rare now.
func (s *stretch) grewSince(first *stretch) bool {
	grown := s.mean() - first.mean()
	between := (s.began.at + s.ended - first.began.at - first.ended).Seconds() / 2
	more, ended := float64(s.began.open-first.began.open), float64(s.began.accepted-first.began.accepted)
	isMore := more > leastSlope/2*ended && more >= probablyMore*math.Sqrt(2*ended+more)
	return isMore && grown >= leastSlope*between && grown >= surelyGrown*math.Sqrt(s.uncertainty()+first.uncertainty())
}

func (s *stretch) mean() float64 { return s.sum / s.n }

// uncertainty returns the square of the standard error of the mean.
func (s *stretch) uncertainty() float64 { return max(0, s.squares/s.n-s.mean()*s.mean()) / s.n }

// fellBehind reports whether more calls have begun than ended since an earlier census, while as many as usual
// ended.
func (c *census) fellBehind(since *census, usual float64) bool {
	ended, more := float64(c.accepted-since.accepted), float64(c.open-since.open)
	return usual > 0 && ended >= leastEnded*usual*(c.at-since.at).Seconds() &&
		more >= leastMore*ended && more >= surelyMore*math.Sqrt(2*ended+more)
}
