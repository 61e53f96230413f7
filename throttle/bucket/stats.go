package bucket

import "github.com/spillway-go/spillway/throttle/internal/window"

// The columns of the tally that requests are counted in. Tokens are counted where nothing is remembered.
const (
	granted      = window.Accepted
	failedOpen   = window.Accepted + 1
	denied       = window.Shed
	failedClosed = window.Shed + 1
	tokens       = window.Free
)

// Stats is what a limiter has done since it was made.
type Stats struct {
	Name         string
	Granted      uint64 // requests
	Denied       uint64
	FailedOpen   uint64 // granted because the store gave no answer
	FailedClosed uint64 // denied because of that
	Tokens       uint64 // granted
	Waiting      int    // requests in Wait
	OnFailure    FailurePolicy
	Limit        Limit // of keys that have no other
}

// Stats returns what the limiter has done.
func (l *Limiter) Stats() Stats {
	return Stats{
		Name:         l.config.Name,
		Granted:      l.tally.Total(0, granted),
		Denied:       l.tally.Total(0, denied),
		FailedOpen:   l.tally.Total(0, failedOpen),
		FailedClosed: l.tally.Total(0, failedClosed),
		Tokens:       l.tally.Total(0, tokens),
		Waiting:      int(l.waiting.Load()),
		OnFailure:    l.config.OnFailure,
		Limit:        *l.limit.Load(),
	}
}

// count counts one request, and what it was granted.
func (l *Limiter) count(column int, n int64) {
	row := l.tally.Row(l.tally.Pick(), 0)
	row[column].Add(1)
	if n > 0 {
		row[tokens].Add(uint64(n))
	}
}
