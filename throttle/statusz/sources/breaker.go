package sources

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/statusz"
)

const (
	maxCircuits    = 5  // that are named
	maxTransitions = 10 // that the page shows
	maxKeyPart     = 60 // bytes of a tenant or an ID
)

// Breaker returns a source that shows a manager: circuits by state, calls by decision, the age of
// the snapshot, the leader, failures, the worst circuits and the latest transitions. It shows keys,
// so do not serve the page on a public listener. It reads [breaker.Manager.Stats] and
// [breaker.Manager.List] and never calls the store.
//
// The state is the worst state of a circuit: "closed", "half_open", "open" or "disabled", "stale"
// if the store was not read for MaxStale, and "never read" before the first reading. With
// ModeShadow or ModeOff the mode follows, as in "open, shadow".
//
// The state is "not running: nothing opens" if the store is shared and [breaker.Manager.Run] does
// not run. This includes a manager whose rounds are made with [breaker.Manager.Sample].
func Breaker(m *breaker.Manager) statusz.Source {
	return statusz.SourceFunc(func() statusz.Status {
		stats := m.Stats()
		list := m.List()
		state, level := breakerState(&stats)
		return statusz.Status{
			Kind: "breaker", Name: m.Name(), State: state, Level: level,
			Figures:     append(breakerFigures(&stats), circuitFigures(list)...),
			Transitions: transitions(list),
		}
	})
}

// breakerState returns the state of a manager. A stale snapshot comes first, because the states of
// circuits may have changed since.
func breakerState(s *breaker.Stats) (state string, level statusz.Level) {
	shedding := statusz.Bad
	if s.Mode != throttle.ModeEnforce {
		shedding = statusz.Warn
	}
	switch {
	case s.SnapshotAge < 0, s.Stale:
		state, level = "stale", statusz.Warn
		if s.SnapshotAge < 0 {
			state = "never read"
		}
		if s.OnStale == breaker.FailClosed {
			level = shedding
		}
	case s.Circuits[breaker.Disabled] > 0:
		state, level = breaker.Disabled.String(), shedding
	case s.Circuits[breaker.Open] > 0:
		state, level = breaker.Open.String(), shedding
	case s.Circuits[breaker.HalfOpen] > 0:
		state, level = breaker.HalfOpen.String(), statusz.Warn
	default:
		state = breaker.Closed.String()
	}
	if s.NotRunning {
		state, level = notRunning(state, level)
	}
	if s.Mode != throttle.ModeEnforce {
		state += ", " + s.Mode.String()
	}
	return state, level
}

// notRunning returns the state of a manager that is not running. It replaces every other state,
// except one in which the manager sheds calls: a manager that is not running sheds them too.
func notRunning(state string, level statusz.Level) (string, statusz.Level) {
	const text = "not running: nothing opens"
	if level == statusz.Bad {
		return state + ", " + text, level
	}
	return text, statusz.Warn
}

// breakerFigures returns the numbers of a manager, the most important first. Those that are usually
// 0 are shown only if they are not.
func breakerFigures(s *breaker.Stats) []statusz.Figure {
	number := func(name string, n uint64) statusz.Figure { return statusz.Figure{Name: name, Value: float64(n)} }
	var calls breaker.CallStats
	for _, c := range s.Calls {
		calls.Admitted += c.Admitted
		calls.Shed += c.Shed
		calls.ShadowShed += c.ShadowShed
	}
	age := statusz.Figure{Name: "store read", Value: math.NaN(), Unit: "s ago"}
	if s.SnapshotAge >= 0 {
		age.Value = s.SnapshotAge.Seconds()
	}
	all := []statusz.Figure{
		number("disabled", uint64(s.Circuits[breaker.Disabled])),
		number("open", uint64(s.Circuits[breaker.Open])),
		number("half-open", uint64(s.Circuits[breaker.HalfOpen])),
		number("closed again", uint64(s.Circuits[breaker.Closed])),
		number("calls admitted", calls.Admitted), number("shed", calls.Shed),
	}
	if calls.ShadowShed > 0 {
		all = append(all, number("shadow-shed", calls.ShadowShed))
	}
	all = append(all, age, leaderFigure(s))
	for f, n := range s.Errors.All() {
		if n > 0 {
			all = append(all, number("failures: "+f.String(), n))
		}
	}
	return all
}

// leaderFigure is 1 if the manager leads. Its name has the term and the leader, which are not
// numbers.
func leaderFigure(s *breaker.Stats) statusz.Figure {
	f := statusz.Figure{Name: "leads"}
	if s.Leader != "" {
		f.Name = fmt.Sprintf("leads (term %d is %s)", s.Term, shortPart(s.Leader))
	}
	if s.Leads {
		f.Value = 1
	}
	return f
}

// circuitFigures names the worst circuits that are not closed, with the share of failed calls at
// their last change. Disabled circuits come first, because they stay so until an operator acts;
// then open and half-open ones. In each group the latest change comes first.
func circuitFigures(list []breaker.Status) []statusz.Figure {
	bad := slices.DeleteFunc(slices.Clone(list), func(s breaker.Status) bool { return s.State == breaker.Closed })
	slices.SortStableFunc(bad, func(a, b breaker.Status) int {
		return cmp.Or(cmp.Compare(b.State.Severity(), a.State.Severity()), b.ChangedAt.Compare(a.ChangedAt))
	})
	var all []statusz.Figure
	for _, s := range bad[:min(maxCircuits, len(bad))] {
		// A circuit that was changed by hand may have no counts. 0/0 is NaN, which the page shows
		// as missing.
		all = append(all, statusz.Figure{
			Name: fmt.Sprintf("%s %s, failed", s.State, shortKey(s.Key)), Value: 100 * s.Failures / (s.Failures + s.Successes), Unit: "%",
		})
	}
	return all
}

// transitions returns the latest transitions, the newest last, with state, key and reason. The
// state before is not known.
func transitions(list []breaker.Status) []statusz.Transition {
	changed := slices.Clone(list)
	slices.SortStableFunc(changed, func(a, b breaker.Status) int { return a.ChangedAt.Compare(b.ChangedAt) })
	var all []statusz.Transition
	for _, s := range changed[max(0, len(changed)-maxTransitions):] {
		state := s.State
		if state == breaker.HalfOpen && s.Reason != breaker.ReasonTimeOver {
			state = breaker.Open // its time is over, but the leader has not recorded that: the last transition was to open
		}
		all = append(all, statusz.Transition{Time: s.ChangedAt, To: fmt.Sprintf("%s %s, %s", state, shortKey(s.Key), s.Reason)})
	}
	return all
}

func shortKey(k breaker.Key) string {
	return breaker.Key{Tenant: shortPart(k.Tenant), ID: shortPart(k.ID)}.String()
}

// shortPart cuts a long text in the middle, because the URLs of endpoints often begin alike.
func shortPart(part string) string {
	if len(part) <= maxKeyPart {
		return part
	}
	const half = (maxKeyPart - len("…")) / 2
	return strings.ToValidUTF8(part[:half], "") + "…" + strings.ToValidUTF8(part[len(part)-half:], "")
}
