package backoffz

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Source shows a backoff on a page: its delay, which way that went how often, what became of calls, and who waits. What it says of now is
// of the last ten seconds, as far as somebody looked; whoever has not looked for so long is told with the second look. Calls are rare
// with a long delay: as long as there is one, what the last of them said holds.
func Source(r *backoff.Responsive) statusz.Source {
	var seen recent
	seen.look(r.Stats)
	return statusz.SourceFunc(func() statusz.Status {
		v := seen.look(r.Stats)
		state, level := verdict(&v)
		return statusz.Status{Kind: "backoff", Name: r.Name(), State: state, Level: level, Figures: figures(&v)}
	})
}

// verdict says how a backoff is in a word. To hold back is what it is for, and it throws some calls at the limit to find it; worth a look is
// only that the service throttles most of what it gets, so that no delay has helped yet.
func verdict(v *view) (state string, level statusz.Level) {
	said := &v.lately
	if !said.telling() && v.now.Delay > 0 {
		said = &v.told
	}
	switch {
	case said.throttled > said.successes:
		return "throttled most", statusz.Warn
	case v.now.Delay > 0:
		return "holding back", statusz.OK
	case v.now.Waiting > 0:
		return "waiting", statusz.OK
	case v.lately.calls() > 0:
		return "full speed", statusz.OK
	case v.known:
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

// figures are the numbers of a backoff, the most important first.
func figures(v *view) []statusz.Figure {
	s := &v.now
	rate := math.NaN()
	if v.known {
		rate = float64(v.lately.calls()) / v.lately.over.Seconds()
	}
	delay, unit := readable(s.Delay)
	return []statusz.Figure{
		{Name: "delay", Value: delay, Unit: unit + ", " + meaning(s.Mode)},
		{Name: "calls", Value: rate, Unit: "/s"},
		{Name: "successes", Value: float64(s.Successes)},
		{Name: "throttled", Value: float64(s.Throttled)},
		{Name: "ignored", Value: float64(s.Ignored)},
		{Name: "steps up", Value: float64(s.Ups)},
		{Name: "steps down", Value: float64(s.Downs)},
		{Name: "sleeping", Value: float64(s.Waiting)},
		{Name: "slept", Value: float64(s.Slept), Unit: "times"},
		{Name: "sleep time", Value: s.SleepTime.Seconds(), Unit: "s"},
	}
}

// readable returns a delay in the unit in which it is neither a long number nor a small one: they go from a millisecond to minutes.
func readable(d time.Duration) (value float64, unit string) {
	if d > 0 && d < time.Second {
		return float64(d) / float64(time.Millisecond), "ms"
	}
	return d.Seconds(), "s"
}

// meaning says what the delay of a mode is.
func meaning(m backoff.Mode) string {
	switch m {
	case backoff.Pace:
		return m.String() + " of all"
	case backoff.Sleep:
		return m.String() + " of each"
	}
	return m.String()
}
