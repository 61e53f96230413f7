package bucket

import "github.com/spillway-go/spillway/throttle/internal/window"

// The columns of the tally that requests are counted in. Tokens are counted where nothing is remembered.
const (
	granted      = window.Accepted
	failedOpen   = window.Accepted + 1
	denied       = window.Shed
	failedClosed = window.Shed + 1
	moreTokens   = window.Free // granted to requests for several: the first of each is the request's
)

// Stats is what a limiter has done since it was made.
type Stats struct {
	Name         string
	Granted      uint64 // requests
	Denied       uint64
	FailedOpen   uint64 // granted by Config.OnFailure, because the store gave no answer
	FailedClosed uint64 // denied by it
	Tokens       uint64 // granted
	Waiting      int    // requests in Wait
	Asking       int    // other requests that wait for the answer of a store
	OnFailure    FailurePolicy
	Limit        Limit  // of keys that have no other
	HookPanics   uint64 // panics that nobody else is told of: see Hooks, and Config.LimitFor
}

// Stats returns what the limiter has done.
func (l *Limiter) Stats() Stats {
	if !l.made() {
		return Stats{}
	}
	waiting, asking := l.waiting.Load(), l.asking.Load() // before what becomes of them
	more := l.tally.Total(0, moreTokens)
	s := Stats{
		Name:         l.config.Name,
		Granted:      l.tally.Total(0, granted),
		Denied:       l.tally.Total(0, denied),
		FailedOpen:   l.tally.Total(0, failedOpen),
		FailedClosed: l.tally.Total(0, failedClosed),
		Waiting:      int(waiting),
		Asking:       int(asking),
		OnFailure:    l.config.OnFailure,
		Limit:        *l.limit.Load(),
		HookPanics:   l.panics.Load(),
	}
	s.Tokens = s.Granted + s.FailedOpen + more
	return s
}

// count counts one request, and what it was granted.
func (l *Limiter) count(column int, n int64) {
	row := l.tally.Row(l.tally.Pick(), 0)
	row[column].Add(1)
	if n > 1 {
		row[moreTokens].Add(uint64(n - 1))
	}
}
