package sources

import (
	"sync"
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
	var seen backoffHistory
	seen.read(r.Stats)
	return statusz.SourceFunc(func() statusz.Status {
		v := seen.read(r.Stats)
		state, level := v.state()
		return statusz.Status{Kind: "backoff", Name: r.Name(), State: state, Level: level, Figures: v.figures()}
	})
}

// backoffChange is the traffic of a backoff in a time.
type backoffChange struct{ change[backoff.Stats] }

func (c *backoffChange) successes() uint64 { return c.now.Successes - c.before.Successes }
func (c *backoffChange) throttled() uint64 { return c.now.Throttled - c.before.Throttled }
func (c *backoffChange) calls() uint64 {
	return c.successes() + c.throttled() + c.now.Ignored - c.before.Ignored
}

// hasEvidence reports whether a call showed if the service throttles.
func (c *backoffChange) hasEvidence() bool { return c.successes()+c.throttled() > 0 }

// backoffView is the recent traffic of a backoff, and the last one that had evidence.
type backoffView struct {
	backoffChange
	evidence backoffChange
}

type backoffHistory struct {
	mu       sync.Mutex
	all      history[backoff.Stats]
	evidence backoffChange
}

func (h *backoffHistory) read(stats func() backoff.Stats) backoffView {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := backoffChange{h.all.read(stats)}
	if c.hasEvidence() {
		h.evidence = c
	}
	return backoffView{backoffChange{c.recent()}, h.evidence}
}

// state returns the state of a backoff. It exists to hold calls back, and has some of them
// throttled to find the limit. It is a warning only if the service throttles most calls, so that no
// delay has helped yet.
func (v *backoffView) state() (state string, level statusz.Level) {
	last := &v.backoffChange
	if !last.hasEvidence() && v.now.Delay > 0 {
		last = &v.evidence
	}
	switch {
	case last.throttled() > last.successes():
		return "throttled most", statusz.Warn
	case v.now.Delay > 0:
		return "holding back", statusz.OK
	case v.now.Waiting > 0:
		return "waiting", statusz.OK
	case v.calls() > 0:
		return "full speed", statusz.OK
	case v.hasRate():
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

func (v *backoffView) figures() []statusz.Figure {
	s := &v.now
	delay, unit := readableDelay(s.Delay)
	return []statusz.Figure{
		{Name: "delay", Value: delay, Unit: unit + ", " + scope(s.Mode)},
		v.perSecond("calls", v.calls()),
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
