package sources

import (
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Bucket returns a source that shows a limiter: granted and denied requests, failures of its store,
// waiting callers, and the limit of keys without a limit of their own. It shows no keys. It reads
// [bucket.Limiter.Stats] and never calls the store.
//
// State and rates are those of the last ten seconds. A page that was not open in that time shows
// them from its second sample on.
func Bucket(l *bucket.Limiter) statusz.Source {
	var seen history[bucket.Stats]
	seen.read(l.Stats)
	return statusz.SourceFunc(func() statusz.Status {
		v := bucketView{seen.read(l.Stats).recent()}
		state, level := v.state()
		return statusz.Status{Kind: "bucket", Name: l.Name(), State: state, Level: level, Figures: v.figures()}
	})
}

type bucketView struct{ change[bucket.Stats] }

func (v *bucketView) granted() uint64      { return v.now.Granted - v.before.Granted }
func (v *bucketView) denied() uint64       { return v.now.Denied - v.before.Denied }
func (v *bucketView) failedOpen() uint64   { return v.now.FailedOpen - v.before.FailedOpen }
func (v *bucketView) failedClosed() uint64 { return v.now.FailedClosed - v.before.FailedClosed }

// state returns the state of a limiter. A failing store comes first, because the limit is not exact
// then. A limiter that denies is a warning only if it denies most requests.
func (v *bucketView) state() (state string, level statusz.Level) {
	switch {
	case v.failedClosed()+v.failedOpen() > 0 && v.now.OnFailure == bucket.LocalShare:
		return "local share", statusz.Warn
	case v.failedClosed() > 0:
		return "failing closed", statusz.Bad
	case v.failedOpen() > 0:
		return "failing open", statusz.Warn
	case v.denied() > v.granted():
		return "denying most", statusz.Warn
	case v.denied() > 0:
		return "denying", statusz.OK
	case v.now.Waiting > 0:
		return "waiting", statusz.OK
	case v.granted() > 0:
		return "granting", statusz.OK
	case v.hasRate():
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

// figures returns the numbers of a limiter, the most important first. Store failures and panics of
// hooks are shown only if there are any.
func (v *bucketView) figures() []statusz.Figure {
	s, failed := &v.now, v.failedOpen()+v.failedClosed()
	var all []statusz.Figure
	if failed > 0 {
		all = append(all, v.perSecond("store failures", failed))
	}
	if s.HookPanics > 0 {
		all = append(all, statusz.Figure{Name: "hook panics", Value: float64(s.HookPanics)})
	}
	limit := s.Limit.WithDefaults()
	refill := "per " + shortDuration(limit.Period) + ", " + limit.Algorithm.String()
	return append(all,
		v.perSecond("requests", v.granted()+v.denied()+failed),
		statusz.Figure{Name: "granted", Value: float64(s.Granted)},
		statusz.Figure{Name: "denied", Value: float64(s.Denied)},
		policyFigure(s),
		statusz.Figure{Name: "tokens granted", Value: float64(s.Tokens)},
		statusz.Figure{Name: "waiting", Value: float64(s.Waiting)},
		statusz.Figure{Name: "capacity", Value: float64(limit.Capacity)},
		statusz.Figure{Name: "refill", Value: float64(limit.Refill), Unit: refill},
	)
}

func policyFigure(s *bucket.Stats) statusz.Figure {
	switch s.OnFailure {
	case bucket.FailClosed:
		return statusz.Figure{Name: "failed closed", Value: float64(s.FailedClosed)}
	case bucket.LocalShare:
		return statusz.Figure{Name: "decided by local share", Value: float64(s.FailedOpen + s.FailedClosed)}
	}
	return statusz.Figure{Name: "failed open", Value: float64(s.FailedOpen)}
}

// shortDuration formats a duration without zeros at its end: 1m, not 1m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zeros) {
			text = text[:len(text)-2]
		}
	}
	return text
}
