package shop

import (
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// Totals are what has happened since the shop was made.
type Totals struct {
	At    time.Time
	Kinds [throttle.StandardPriorities]KindTotals
	Sent  uint64 // calls that reached the backend
	Twin  uint64 // calls that the twin has served; as many were offered to it as to the throttle
}

// KindTotals are the calls of one kind. Those that are under way have been offered, and nothing else yet.
type KindTotals struct {
	Offered  uint64
	Served   uint64 // by the backend
	Rejected uint64 // by the backend
	Shed     uint64 // by the throttle
	Cached   uint64 // rejected or shed, and served from what the shop keeps for that
}

// Totals returns what has happened so far.
func (s *Shop) Totals() Totals {
	t := Totals{At: time.Now()}
	for p := range t.Kinds {
		c := &s.counts[p]
		t.Kinds[p] = KindTotals{
			Served: c.served.Load(), Rejected: c.rejected.Load(), Shed: c.shed.Load(), Cached: c.cached.Load(),
			Offered: c.offered.Load(), // last: what has ended has been offered
		}
	}
	t.Sent, _ = s.backend.totals()
	_, t.Twin = s.twin.totals()
	return t
}

// Sum returns the calls of all kinds.
func (t *Totals) Sum() KindTotals {
	var sum KindTotals
	for _, k := range t.Kinds {
		sum.Offered += k.Offered
		sum.Served += k.Served
		sum.Rejected += k.Rejected
		sum.Shed += k.Shed
		sum.Cached += k.Cached
	}
	return sum
}
