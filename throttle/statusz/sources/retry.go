package sources

import (
	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/retry"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Retry returns a source that shows a Retrier: what is left of its budget, its retries, and why
// failed calls were not retried. State and rates are those of the last ten seconds, as for
// [Backoff].
func Retry(r *retry.Retrier) statusz.Source {
	var seen history[retry.Stats]
	return statusz.SourceFunc(func() statusz.Status {
		v := retryView{seen.read(r.Stats).recent()}
		state, level := v.state()
		return statusz.Status{Kind: "retry", Name: r.Name(), State: state, Level: level, Figures: v.figures()}
	})
}

type retryView struct{ change[retry.Stats] }

func (v *retryView) sent() uint64 { return v.now.Sent - v.before.Sent }

// state returns the state of a Retrier. ModeOff is a warning, as shadow is for [Breaker]. An empty budget is a warning: the
// backend rejects more than retries can repair.
func (v *retryView) state() (state string, level statusz.Level) {
	switch {
	case v.now.Mode == throttle.ModeOff:
		return "off", statusz.Warn
	case v.now.Denied.Count(retry.ReasonBudget) > v.before.Denied.Count(retry.ReasonBudget):
		return "budget empty", statusz.Warn
	case v.sent() > 0:
		return "retrying", statusz.OK
	case v.hasRate():
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

func (v *retryView) figures() []statusz.Figure {
	figures := []statusz.Figure{
		{Name: "budget left", Value: v.now.Left, Unit: "retries"},
		v.perSecond("retries", v.sent()),
		{Name: "sent", Value: float64(v.now.Sent)},
	}
	for reason, n := range v.now.Denied.All() {
		figures = append(figures, statusz.Figure{Name: "denied: " + reason.String(), Value: float64(n)})
	}
	return figures
}
