package throttle

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/window"
)

const (
	// fullWhenSaid is fullLimit if the backend says that it is overloaded.
	fullWhenSaid = 0.5
	// leastTriedIfCalm is the share of the answers that are surely rejected, for a trial although the demand has
	// grown and the backend says that it is calm.
	leastTriedIfCalm = 0.3
	// limitIfCalm is the evidence for load that such a trial needs, in nats. It may begin by chance.
	limitIfCalm = 1.5 * trialLimit
	// believeAfter is how long an alert lasts at least, if the backend says that it is over.
	believeAfter = time.Second
)

// isForgiven reports whether rejections are no reason for an alert, because the backend says that it is
// calm. It may be wrong: it lies, or what it needs itself is full.
func (m *monitor) isForgiven(o *observation) bool { return o.said.Calm && m.at >= m.doubtUntil }

// isBelieved reports whether rejections of a calm backend are taken for errors without a trial: if the demand has
// grown, errors and load look alike. At constant demand a trial finds out. All clients begin it a window after the
// rise is clear. Before, those with few calls may not have seen that the demand grows.
func (m *monitor) isBelieved(o *observation) bool {
	return m.isForgiven(o) && (m.mayGrow() || requests(&o.span) > (1+grownShare)*m.riseDemand*m.span.Seconds())
}

func (m *monitor) mayGrow() bool { return m.at-m.riseClear < m.span }

// isWorthIt reports whether rejections are a reason for a trial. One that begins by chance, when other clients
// have none, finds nothing and costs calls. So rejections must surely be many.
func (m *monitor) isWorthIt(c *window.Counts, o *observation) bool {
	least := leastTried
	switch {
	case m.isForgiven(o) && m.mayGrow():
		return false
	case m.isBelieved(o):
		least = leastTriedIfCalm
	case m.at-m.riseAt >= trialPatience:
		return true // a client with few calls must not begin later than others
	}
	return doubts(c)-2*math.Sqrt(doubts(c)) >= least*answersOf(c)
}

// saysItIsOver reports whether a backend that has said that it is overloaded now says that it is calm.
func (m *monitor) saysItIsOver(o *observation) bool {
	m.saidFull = m.saidFull || o.said.Overloaded
	recent := window.Sum(o.recent)
	return m.saidFull && o.said.Calm && m.at-m.since >= believeAfter && float64(recent.Rejected) <= mostWhenBack*answersOf(&recent)
}
