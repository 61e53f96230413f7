package breakerz

import (
	"fmt"
	"math"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Source shows a manager on a page: whether it runs, how many circuits are in each state, what became of calls, whether the manager
// hears from its store and who leads, what has failed, the gravest circuits and the latest changes. It shows keys: keep the page off public
// listeners. It asks the manager only, and never its store.
func Source(m *breaker.Manager) statusz.Source {
	return statusz.SourceFunc(func() statusz.Status {
		stats := m.Stats()
		list := m.List()
		state, level := verdict(&stats)
		return statusz.Status{
			Kind: "breaker", Name: m.Name(), State: state, Level: level,
			Figures:     append(figures(&stats), circuits(list)...),
			Transitions: transitions(list),
		}
	})
}

// verdict says how a breaker is in a word. A store that is silent comes first: then the rest is what was.
func verdict(s *breaker.Stats) (state string, level statusz.Level) {
	refusing := statusz.Bad
	if s.DryRun {
		refusing = statusz.Warn
	}
	switch {
	case s.SnapshotAge < 0, s.Stale:
		state, level = "stale", statusz.Warn
		if s.SnapshotAge < 0 {
			state = "never read"
		}
		if s.OnStale == breaker.FailClosed {
			level = refusing
		}
	case s.Circuits[breaker.Disabled] > 0:
		state, level = breaker.Disabled.String(), refusing
	case s.Circuits[breaker.Open] > 0:
		state, level = breaker.Open.String(), refusing
	case s.Circuits[breaker.HalfOpen] > 0:
		state, level = breaker.HalfOpen.String(), statusz.Warn
	default:
		state = breaker.Closed.String()
	}
	if !s.Running {
		state, level = notRunning(state, level)
	}
	if s.DryRun {
		state += ", dry run"
	}
	return state, level
}

// notRunning is the verdict where Run does not run. It comes before all but what refuses calls, which goes on without it.
func notRunning(state string, level statusz.Level) (string, statusz.Level) {
	const words = "not running: nothing opens"
	if level == statusz.Bad {
		return state + ", " + words, level
	}
	return words, statusz.Warn
}

// figures are the numbers of a breaker, the most important first. What is mostly 0 is only there if it is not.
func figures(s *breaker.Stats) []statusz.Figure {
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
		number("closed with a past", uint64(s.Circuits[breaker.Closed])),
		number("calls admitted", calls.Admitted), number("shed", calls.Shed),
	}
	if calls.ShadowShed > 0 {
		all = append(all, number("would have been shed", calls.ShadowShed))
	}
	all = append(all, age, leader(s))
	for f, n := range s.Failures {
		if n > 0 {
			all = append(all, number("failures: "+breaker.Failure(f).String(), n))
		}
	}
	return all
}

// leader says whether the manager leads. Terms are too long for a figure, and so stand in its name, with the one who leads.
func leader(s *breaker.Stats) statusz.Figure {
	f := statusz.Figure{Name: "leads"}
	if s.Leader != "" {
		f.Name = fmt.Sprintf("leads (term %d is %s)", s.Term, short(s.Leader))
	}
	if s.Leads {
		f.Value = 1
	}
	return f
}
