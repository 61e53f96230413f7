package overload

import (
	"math"
	"slices"
	"time"
)

const (
	patience = time.Second // how long a caller waits for a backend that queues
	longest  = 5           // seconds of a healthy backend's work that it queues
	fewest   = 1024        // calls that a line has room for
	never    = time.Duration(math.MaxInt64)
)

// waiting is a call that stands in line.
type waiting struct {
	token   Token
	offer   offer
	arrived time.Duration
	mark    float64 // how much work must be done in all until it is served
}

// line is a backend that serves calls in order of arrival, and does not know that callers give up. Those do so in the same order,
// so that one cursor tells who does next.
type line struct {
	cost  float64 // of a rejection
	room  float64 // for work
	rate  float64 // of work per second
	done  float64 // work, ever
	due   float64 // the mark of the last in line
	debt  float64 // work on rejections that comes first
	until time.Duration

	calls         []waiting // in order of arrival
	first, giving int       // in calls: the next to be served, and the next to give up
}

// newLine returns an empty line before a backend of that healthy capacity.
func newLine(cost, capacity float64) *line {
	return &line{cost: cost, room: longest * capacity, calls: make([]waiting, 0, fewest)}
}

// retune changes the capacity.
func (l *line) retune(at time.Duration, rate float64) {
	l.work(at)
	l.rate = rate
}

// join puts a call into the line, unless that is full.
func (l *line) join(w waiting) bool {
	l.work(w.arrived)
	if l.due-l.done+l.debt+1 > l.room {
		return false
	}
	l.closeUp()
	l.due++
	w.mark = l.due
	l.calls = append(l.calls, w)
	return true
}

// reject spends what a rejection costs, and returns how much that is. It holds up everyone in line.
func (l *line) reject(at time.Duration) float64 {
	l.work(at)
	before := l.debt
	l.debt = min(l.debt+l.cost, max(l.debt, overdue*l.rate))
	return l.debt - before
}

// next tells when the next call in line is served or given up by its caller, whichever comes first; or never.
func (l *line) next() (at time.Duration, served bool) {
	served = true
	at = l.serving()
	if l.giving < len(l.calls) {
		if gone := l.calls[l.giving].arrived + patience; gone < at {
			return gone, false
		}
	}
	return at, served
}

// serving tells when the first in line is served.
func (l *line) serving() time.Duration {
	if l.first == len(l.calls) || l.rate == 0 {
		return never
	}
	wait := math.Ceil((l.calls[l.first].mark - l.done + l.debt) / l.rate * float64(time.Second))
	if wait >= float64(never-l.until) {
		return never
	}
	return l.until + time.Duration(max(0, wait))
}

// serve takes the first call out of the line, and reports whether its caller still waited.
func (l *line) serve(at time.Duration) (w *waiting, useful bool) {
	l.work(at)
	w = &l.calls[l.first]
	l.done, l.debt = max(l.done, w.mark), 0
	useful = l.giving == l.first
	l.first++
	l.giving = max(l.giving, l.first)
	return w, useful
}

// giveUp returns the call whose caller waits no longer. It stays in line: the backend does not know.
func (l *line) giveUp() *waiting {
	w := &l.calls[l.giving]
	l.giving++
	return w
}

// work lets the time pass.
func (l *line) work(at time.Duration) {
	effort := l.rate * (at - l.until).Seconds()
	l.until = at
	paid := min(effort, l.debt)
	l.debt -= paid
	l.done = min(l.done+effort-paid, l.due)
}

// closeUp forgets the calls that have been served when they are the greater part.
func (l *line) closeUp() {
	if l.first < fewest || l.first < len(l.calls)/2 {
		return
	}
	l.calls = slices.Delete(l.calls, 0, l.first)
	l.giving -= l.first
	l.first = 0
}
