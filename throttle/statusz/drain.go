package statusz

import (
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// longestDrain is how long a closed throttle is kept for the calls that were in flight at its close.
const longestDrain = 10 * time.Minute

// drain is a closed throttle whose totals may still grow: some of its calls have not ended.
type drain struct {
	throttle *throttle.Throttle
	since    time.Time
}

// over reports whether there is nothing more to wait for.
func (d *drain) over(stats *throttle.Stats) bool {
	return !slices.ContainsFunc(stats.Priorities, isInFlight) || time.Since(d.since) >= longestDrain
}

func isInFlight(p throttle.PriorityStats) bool { return p.InFlight > 0 }
