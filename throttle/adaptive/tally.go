package adaptive

import (
	"github.com/spillway-go/spillway/throttle/internal/window"
)

// The columns of the window: one that it remembers as accepted, the one for rejected, and one for shed.
const (
	accepts          = window.Accepted
	backendThrottled = window.Rejected // sent, and refused by the backend
	locallyThrottled = window.Shed     // refused here, never sent
)

// count adds one to a column. A refusal is counted before the throttler is watched for it, see [Throttler.relax], and
// everything is counted before it is news, see [Throttler.look].
func (t *Throttler) count(column int) {
	t.window.Row(t.window.Pick(), 0)[column].Add(1)
	if t.watched.Load() {
		t.odds.news.Add(1)
		return
	}
	if column != accepts {
		t.watched.Store(true)
		t.odds.news.Add(1)
	}
}

// sum returns what happened in the window, and what has ever happened, at the same instant.
func (t *Throttler) sum() (recent, ever Counts) {
	var r, e [1]window.Counts
	t.window.Read(window.Reading{Span: r[:], Ever: e[:]})
	return countsOf(r[0]), countsOf(e[0])
}

// ever returns what has ever happened.
func (t *Throttler) ever() Counts {
	var e [1]window.Counts
	t.window.Ever(e[:])
	return countsOf(e[0])
}

func countsOf(c window.Counts) Counts {
	return Counts{Accepted: c.Accepted, Rejected: c.Rejected, Shed: c.Shed}
}
