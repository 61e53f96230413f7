package sources

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Retry returns a source that shows a Retrier: what is left of its budget, its retries, and why
// failed calls were not retried. State and rates are those of the last ten seconds, as for
// [Backoff].
func Retry(r *retry.Retrier) statusz.Source {
	var h recent[retry.Stats]
	return statusz.SourceFunc(func() statusz.Status {
		var v retryView
		v.now = h.compare(r.Stats, v.compare)
		state, level := v.state()
		return statusz.Status{Kind: "retry", Name: r.Name(), State: state, Level: level, Figures: v.figures()}
	})
}

// retryView is the Stats of a Retrier and its recent traffic.
type retryView struct {
	now       retry.Stats
	over      time.Duration
	sent      uint64
	exhausted uint64 // denied by the budget
}

// compare computes the traffic between two snapshots, unless the first is old.
func (v *retryView) compare(before, now *retry.Stats, over time.Duration) {
	if over > memory {
		return
	}
	v.over = over
	v.sent = now.Sent - before.Sent
	v.exhausted = now.Denied.Count(retry.ReasonBudget) - before.Denied.Count(retry.ReasonBudget)
}

// state returns the state of a Retrier. ModeOff is a warning, as shadow is for [Breaker]. An empty budget is a warning: the backend rejects more than
// retries can repair.
func (v *retryView) state() (state string, level statusz.Level) {
	switch {
	case v.now.Mode == throttle.ModeOff:
		return "off", statusz.Warn
	case v.exhausted > 0:
		return "budget empty", statusz.Warn
	case v.sent > 0:
		return "retrying", statusz.OK
	case v.over >= spacing:
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

// figures returns the numbers of a Retrier, the most important first.
func (v *retryView) figures() []statusz.Figure {
	rate := math.NaN()
	if v.over >= spacing {
		rate = float64(v.sent) / v.over.Seconds()
	}
	figures := []statusz.Figure{
		{Name: "budget left", Value: v.now.Left, Unit: "retries"},
		{Name: "retries", Value: rate, Unit: "/s"},
		{Name: "sent", Value: float64(v.now.Sent)},
	}
	for reason, n := range v.now.Denied.All() {
		figures = append(figures, statusz.Figure{Name: "denied: " + reason.String(), Value: float64(n)})
	}
	return figures
}
