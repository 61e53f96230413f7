package bucket

import "github.com/spillway-go/spillway/throttle/internal/window"

// Columns of Limiter.totals. They count requests, except for moreTokens.
const (
	granted      = window.Accepted
	failedOpen   = window.Accepted + 1
	denied       = window.Shed
	failedClosed = window.Shed + 1
	moreTokens   = window.Free // tokens granted beyond the first of each request
)

// Stats are the counters of a limiter since it was created, and its current state.
type Stats struct {
	Name          string
	Granted       uint64 // requests granted, without FailedOpen
	Denied        uint64 // requests denied, without FailedClosed; with FailOpen also while the store may be busy
	FailedOpen    uint64 // requests granted by Config.OnFailure, because the store gave no answer
	FailedClosed  uint64 // requests denied by Config.OnFailure: by FailClosed or by the local share
	Tokens        uint64 // tokens granted
	Waiting       int    // requests in Wait now
	AwaitingStore int    // other requests that wait for the store now
	OnFailure     FailurePolicy
	Limit         Limit  // of keys for which Config.LimitFor has no other
	HookPanics    uint64 // panics of hooks and Config.LimitFor that did not propagate to a caller
}

// Stats returns the counters and the current state. A nil or zero Limiter returns the zero Stats.
func (l *Limiter) Stats() Stats {
	if !l.valid() {
		return Stats{}
	}
	waiting, asking := l.waiting.Load(), l.asking.Load() // before the counters of their outcomes
	more := l.totals.Total(0, moreTokens)
	s := Stats{
		Name:          l.config.Name,
		Granted:       l.totals.Total(0, granted),
		Denied:        l.totals.Total(0, denied),
		FailedOpen:    l.totals.Total(0, failedOpen),
		FailedClosed:  l.totals.Total(0, failedClosed),
		Waiting:       int(waiting),
		AwaitingStore: int(asking),
		OnFailure:     l.config.OnFailure,
		Limit:         l.limit.Load().Limit,
		HookPanics:    l.panics.Load(),
	}
	s.Tokens = s.Granted + s.FailedOpen + more
	return s
}

// count counts one request and the n tokens that it was granted.
func (l *Limiter) count(column int, n int64) {
	row := l.totals.Row(l.totals.Pick(), 0)
	row[column].Add(1)
	if n > 1 {
		row[moreTokens].Add(uint64(n - 1))
	}
}
