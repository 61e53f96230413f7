package bucketz

import (
	"math"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/statusz"
)

// Source shows a limiter on a page: what became of requests, whether its store fails now, who waits, and the limit of keys that have no
// other. It shows no keys. It asks the limiter only, and never its store. What it says of now is of the last ten seconds, as far as
// somebody looked; whoever has not looked for so long is told with the second look.
func Source(l *bucket.Limiter) statusz.Source {
	var seen recent
	seen.look(l.Stats)
	return statusz.SourceFunc(func() statusz.Status {
		stats, lately, known := seen.look(l.Stats)
		state, level := verdict(&stats, &lately, known)
		return statusz.Status{Kind: "bucket", Name: l.Name(), State: state, Level: level, Figures: figures(&stats, &lately, known)}
	})
}

// verdict says how a limiter is in a word. A store that fails comes first: then the limit is not what it seems. To deny is what a limiter is
// for, and worth a look only if it happens to most.
func verdict(s *bucket.Stats, lately *traffic, known bool) (state string, level statusz.Level) {
	switch {
	case lately.failedClosed+lately.failedOpen > 0 && s.OnFailure == bucket.LocalShare:
		return "local share", statusz.Warn
	case lately.failedClosed > 0:
		return "failing closed", statusz.Bad
	case lately.failedOpen > 0:
		return "failing open", statusz.Warn
	case lately.denied > lately.granted:
		return "denying most", statusz.Warn
	case lately.denied > 0:
		return "denying", statusz.OK
	case s.Waiting > 0:
		return "waiting", statusz.OK
	case lately.granted > 0:
		return "granting", statusz.OK
	case known:
		return "idle", statusz.OK
	}
	return "unknown", statusz.OK
}

// figures are the numbers of a limiter, the most important first. How often the store fails is only there if it does.
func figures(s *bucket.Stats, lately *traffic, known bool) []statusz.Figure {
	perSecond := func(name string, n uint64) statusz.Figure {
		f := statusz.Figure{Name: name, Value: math.NaN(), Unit: "/s"}
		if known {
			f.Value = float64(n) / lately.over.Seconds()
		}
		return f
	}
	var all []statusz.Figure
	if failed := lately.failedOpen + lately.failedClosed; failed > 0 {
		all = append(all, perSecond("store fails", failed))
	}
	if s.HookPanics > 0 {
		all = append(all, statusz.Figure{Name: "hook panics", Value: float64(s.HookPanics)})
	}
	limit := s.Limit.WithDefaults()
	return append(all,
		perSecond("requests", lately.requests()),
		statusz.Figure{Name: "granted", Value: float64(s.Granted)},
		statusz.Figure{Name: "denied", Value: float64(s.Denied)},
		failures(s),
		statusz.Figure{Name: "tokens granted", Value: float64(s.Tokens)},
		statusz.Figure{Name: "waiting", Value: float64(s.Waiting)},
		statusz.Figure{Name: "capacity", Value: float64(limit.Capacity)},
		statusz.Figure{Name: "refill", Value: float64(limit.Refill), Unit: "per " + short(limit.Period) + ", " + limit.Algorithm.String()},
	)
}

// failures are the requests that the policy decided about, which has but one way to do so: its name tells the policy.
func failures(s *bucket.Stats) statusz.Figure {
	switch s.OnFailure {
	case bucket.FailClosed:
		return statusz.Figure{Name: "failed closed", Value: float64(s.FailedClosed)}
	case bucket.LocalShare:
		return statusz.Figure{Name: "decided by local share", Value: float64(s.FailedOpen + s.FailedClosed)}
	}
	return statusz.Figure{Name: "failed open", Value: float64(s.FailedOpen)}
}

// short writes a duration without the zeros at its end: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zeros) {
			text = text[:len(text)-2]
		}
	}
	return text
}
