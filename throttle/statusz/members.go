package statusz

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/throttle"
)

const (
	// maxMembers is how many members of a Group a row shows.
	maxMembers = 10
	// maxKey is the most bytes that are shown of a member's key.
	maxKey = 255
)

// memberDocument is one open member of a Group, with all its priorities together.
type memberDocument struct {
	Key         string         `json:"key"`
	Probability float64        `json:"probability"` // the highest of its priorities
	InFlight    int64          `json:"in_flight"`
	Window      windowDocument `json:"window"`
}

// worstMembers keeps the worst maxMembers of the members added to it.
type worstMembers struct {
	count int              // members added
	worst []memberDocument // worst first, keys not truncated
}

// add takes O(maxMembers) time and allocates once, so that a Group of thousands stays cheap.
func (w *worstMembers) add(key string, stats *throttle.Stats) {
	w.count++
	m := memberOf(key, stats)
	i, _ := slices.BinarySearchFunc(w.worst, m, compareMembers)
	switch {
	case i == maxMembers:
		return
	case w.worst == nil:
		w.worst = make([]memberDocument, 0, maxMembers)
	case len(w.worst) == maxMembers:
		w.worst = w.worst[:maxMembers-1]
	}
	w.worst = slices.Insert(w.worst, i, m)
}

// documents returns the worst members, and how many other members there are.
func (w *worstMembers) documents() (worst []memberDocument, omitted int) {
	worst = append([]memberDocument{}, w.worst...) // not nil: JSON has []
	for i := range worst {
		worst[i].Key = truncate(worst[i].Key, maxKey)
	}
	return worst, w.count - len(worst)
}

func memberOf(key string, stats *throttle.Stats) memberDocument {
	m := memberDocument{Key: key}
	for i := range stats.Priorities {
		p := &stats.Priorities[i]
		m.Probability = max(m.Probability, finite(p.Probability))
		m.InFlight += p.InFlight
		m.Window.Accepted += p.Window.Accepted
		m.Window.Rejected += p.Window.Rejected
		m.Window.Shed += p.Window.Shed
	}
	return m
}

// compareMembers orders members worst first: by probability, then by shed and by rejected calls in
// the window. Equal members are ordered by key, so that the order is stable.
func compareMembers(a, b memberDocument) int {
	return cmp.Or(
		cmp.Compare(b.Probability, a.Probability),
		cmp.Compare(b.Window.Shed, a.Window.Shed),
		cmp.Compare(b.Window.Rejected, a.Window.Rejected),
		strings.Compare(a.Key, b.Key),
	)
}
