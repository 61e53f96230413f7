package statusz

import "github.com/spillway-go/spillway/throttle"

// reading is what a row shows at one instant.
type reading struct {
	id         uint64
	name       string
	instances  int
	settings   settings // of the member that came first
	mixed      bool     // members differ in their settings
	priorities []sums
}

// settings is what of a throttle is chosen, not counted.
type settings struct {
	policy    string
	mode      string
	ratio     float64
	minimum   float64
	rejection float64
	window    float64 // in seconds
}

// sums is one priority of several throttles together.
type sums struct {
	throttle.PriorityStats
}

// settle takes the settings of a further member.
func (r *reading) settle(s settings, first bool) {
	switch {
	case first:
		r.settings = s
	case s != r.settings:
		r.mixed = true
		r.settings.mode = same(r.settings.mode, s.mode)
		r.settings.policy = same(r.settings.policy, s.policy)
	}
}

// same returns the word that two members share, or says that they do not.
func same(a, b string) string {
	if a != b {
		return "mixed"
	}
	return a
}

func settingsOf(s *throttle.Stats) settings {
	return settings{
		policy:    s.Policy.String(),
		mode:      s.Mode.String(),
		ratio:     s.Ratio,
		minimum:   s.MinimumRate,
		rejection: s.TargetRejection,
		window:    s.Window.Seconds(),
	}
}

// addAll adds one throttle to the sums, by priority; its present only if it is open.
func addAll(to []sums, stats *throttle.Stats, open bool) []sums {
	for p := range stats.Priorities {
		from := &stats.Priorities[p]
		if p == len(to) {
			to = append(to, sums{PriorityStats: throttle.PriorityStats{Priority: from.Priority}})
		}
		to[p].addTotals(from)
		if open {
			to[p].addPresent(from)
		}
	}
	return to
}

func (s *sums) addTotals(from *throttle.PriorityStats) {
	s.Admitted += from.Admitted
	s.Ended.Merge(from.Ended)
	s.Fallbacks.Merge(from.Fallbacks)
	s.Shed.Merge(from.Shed)
	s.ShadowShed.Merge(from.ShadowShed)
	s.Clamped += from.Clamped
}

// addPresent takes the highest probability with its cause, and adds up the rest.
func (s *sums) addPresent(from *throttle.PriorityStats) {
	if from.Probability > s.Probability {
		s.Probability, s.Cause = from.Probability, from.Cause
	}
	s.Window.Accepted += from.Window.Accepted
	s.Window.Rejected += from.Window.Rejected
	s.Window.Shed += from.Window.Shed
	s.InFlight += from.InFlight
}
