package throttle

import (
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// All works again if enoughWorked calls in a row are accepted, after enoughFailed that were all rejected, or
	// enoughFull if the backend said that it is full: an alert begins after as many. After manyFailed, fewWorked
	// are enough: a client that sheds nearly all calls has few answers a second. In an overload, which accepts
	// some calls all the time, manyFailed are needed: fewer fail in a row by chance.
	enoughWorked, enoughFailed, enoughFull = 3, 4, 3
	fewWorked, manyFailed                  = 2, 10
	// failuresEnd is the number of accepted calls in a row that end the failures.
	failuresEnd = 10
	// Only the first and the last update of the failures may have accepted calls too. A bucket has one update, or more
	// with many calls.
	edges = 2
	// relapse is the evidence, in nats, with which an alert begins again after relief.
	relapse = 2.5
)

// relief recognizes that nothing worked, and then all works again: a restart, a failover. That is another
// case than an overload, in which some calls are accepted all the time. Then nothing is shed any more, at
// once, if the demand is as before: the backend could serve it.
type relief struct {
	failed, worked uint64 // calls in a row
	full           uint64 // of the failed calls
	mixed          int    // updates with accepted calls since the first failure
	mixes          bool   // in this alert there were too many of them: it is an overload
	next           time.Duration
	attempts       int
}

func (r *relief) add(fresh, span *window.Counts) {
	if fresh.Rejected == 0 {
		r.worked += fresh.Accepted
		return
	}
	if r.worked >= failuresEnd || fresh.Rejected == span.Rejected {
		r.failed, r.full, r.mixed, r.worked = 0, 0, 0, 0
	}
	if r.failed > 0 && r.worked > 0 {
		r.mixed = edges + 1
	}
	if fresh.Accepted > 0 {
		r.mixed++
	}
	r.mixes = r.mixes || r.mixed > edges
	r.failed, r.full, r.worked = r.failed+fresh.Rejected, r.full+fresh.Full, 0
}

func (r *relief) isHere(now time.Duration) bool {
	failed := r.failed >= manyFailed || !r.mixes && (r.failed >= enoughFailed || r.full >= enoughFull)
	worked := r.worked >= enoughWorked || r.worked >= fewWorked && r.failed >= manyFailed
	return failed && worked && r.mixed <= edges && now >= r.next
}

// plan sets when it may come again: sooner than in 10, 30, 120 seconds only if it was true.
func (r *relief) plan(now time.Duration) {
	r.next = now + trialWait(r.attempts)
	r.attempts++
}
