package sources

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle/backoff"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Backoff returns a source that shows a backoff: its delay and the steps of it, calls by outcome,
// and waiting callers.
//
// State and rates are those of the last ten seconds. A page that was not open in that time shows
// them from its second sample on. With a long delay calls are rare: while there is a delay, the
// state is that of the last calls, however long ago.
func Backoff(r *backoff.Responsive) statusz.Source {
	var h backoffHistory
	h.read(r.Stats)
	return statusz.SourceFunc(func() statusz.Status {
		v := h.read(r.Stats)
		state, level := v.state()
		return statusz.Status{Kind: "backoff", Name: r.Name(), State: state, Level: level, Figures: v.figures()}
	})
}

// backoffTraffic is the number of calls in a time, by outcome.
type backoffTraffic struct {
	over                          time.Duration
	successes, throttled, ignored uint64
}

func (t *backoffTraffic) calls() uint64 { return t.successes + t.throttled + t.ignored }

// hasEvidence reports whether a call showed if the service throttles.
func (t *backoffTraffic) hasEvidence() bool { return t.successes+t.throttled > 0 }

// backoffView is the Stats of a backoff and its traffic.
type backoffView struct {
	now      backoff.Stats
	recent   backoffTraffic
	evidence backoffTraffic // the last traffic that had evidence
}

// backoffHistory keeps what is needed to compute the recent traffic.
type backoffHistory struct {
	recent   recent[backoff.Stats]
	evidence backoffTraffic // guarded by the lock of recent
}

func (h *backoffHistory) read(read func() backoff.Stats) backoffView {
	var v backoffView
	v.now = h.recent.compare(read, func(before, now *backoff.Stats, over time.Duration) {
		t := backoffTraffic{
			over:      over,
			successes: now.Successes - before.Successes,
			throttled: now.Throttled - before.Throttled,
			ignored:   now.Ignored - before.Ignored,
		}
		if t.hasEvidence() {
			h.evidence = t
		}
		if over <= memory {
			v.recent = t
		}
		v.evidence = h.evidence
	})
	return v
}

// hasRate reports whether the recent traffic is of a time long enough for a rate.
func (v *backoffView) hasRate() bool { return v.recent.over >= spacing }

// state returns the state of a backoff. It exists to hold calls back, and has some of them
// throttled to find the limit. It is a warning only if the service throttles most calls, so that no
// delay has helped yet.
func (v *backoffView) state() (state string, level statusz.Level) {
	last := &v.recent
	if !last.hasEvidence() && v.now.Delay > 0 {
		last = &v.evidence
	}
	switch {
	case last.throttled > last.successes:
		return "throttled most", statusz.Warn
	case v.now.Delay > 0:
		return "holding back", statusz.OK
	case v.now.Waiting > 0:
		return "waiting", statusz.OK
	case v.recent.calls() > 0:
		return "full speed", statusz.OK
	case v.hasRate():
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

// figures returns the numbers of a backoff, the most important first.
func (v *backoffView) figures() []statusz.Figure {
	s := &v.now
	rate := math.NaN()
	if v.hasRate() {
		rate = float64(v.recent.calls()) / v.recent.over.Seconds()
	}
	delay, unit := readableDelay(s.Delay)
	return []statusz.Figure{
		{Name: "delay", Value: delay, Unit: unit + ", " + scope(s.Mode)},
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

// readableDelay returns a delay in milliseconds if it is below a second, else in seconds.
func readableDelay(d time.Duration) (value float64, unit string) {
	if d > 0 && d < time.Second {
		return float64(d) / float64(time.Millisecond), "ms"
	}
	return d.Seconds(), "s"
}

// scope returns the mode, and whether all workers share the delay or each of them sleeps it.
func scope(m backoff.Mode) string {
	switch m {
	case backoff.Pace:
		return m.String() + " of all"
	case backoff.Sleep:
		return m.String() + " of each"
	}
	return m.String()
}
