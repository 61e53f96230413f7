package breakerz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/statusz"
)

const (
	mostCircuits    = 5  // that are named
	mostTransitions = 10 // that the page shows
	longestPart     = 60 // of a key, in bytes
)

// circuits names the gravest circuits that are not closed, with the share of calls that had failed when they changed: the
// disabled first, which need somebody, then the open and the half-open, of each the last to change first.
func circuits(list []breaker.Status) []statusz.Figure {
	grave := slices.DeleteFunc(slices.Clone(list), func(s breaker.Status) bool { return s.State == breaker.Closed })
	slices.SortStableFunc(grave, func(a, b breaker.Status) int {
		return cmp.Or(cmp.Compare(b.State.Gravity(), a.State.Gravity()), b.ChangedAt.Compare(a.ChangedAt))
	})
	var all []statusz.Figure
	for _, s := range grave[:min(mostCircuits, len(grave))] {
		// Nothing was polled of a circuit that was changed by hand: 0/0 is not finite, which the page shows as missing.
		all = append(all, statusz.Figure{
			Name: fmt.Sprintf("%s %s, failed", s.State, name(s.Key)), Value: 100 * s.Failures / (s.Failures + s.Successes), Unit: "%",
		})
	}
	return all
}

// transitions are the latest changes of circuits that are remembered, the newest last. What a circuit was before is not: the page shows
// where it went, which one, and why.
func transitions(list []breaker.Status) []statusz.Transition {
	changed := slices.Clone(list)
	slices.SortStableFunc(changed, func(a, b breaker.Status) int { return a.ChangedAt.Compare(b.ChangedAt) })
	var all []statusz.Transition
	for _, s := range changed[max(0, len(changed)-mostTransitions):] {
		state := s.State
		if state == breaker.HalfOpen && s.Reason != breaker.TimeOver {
			state = breaker.Open // its time is over, and nobody has written that down: its last change is the one before
		}
		all = append(all, statusz.Transition{Time: s.ChangedAt, To: fmt.Sprintf("%s %s, %s", state, name(s.Key), s.Reason)})
	}
	return all
}

// name is a key to be read: quoted, each part cut to what fits beside the rest.
func name(k breaker.Key) string {
	return breaker.Key{Tenant: short(k.Tenant), ID: short(k.ID)}.String()
}

// short cuts what is too long, in the middle: endpoints mostly begin alike.
func short(part string) string {
	if len(part) <= longestPart {
		return part
	}
	const half = (longestPart - len("…")) / 2
	return strings.ToValidUTF8(part[:half], "") + "…" + strings.ToValidUTF8(part[len(part)-half:], "")
}
