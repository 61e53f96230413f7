package breaker

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// quietFor is how long LogHooks says nothing more of a kind of failure.
const quietFor = time.Minute

// LogHooks returns hooks that log what a person wants to know: each change of a circuit, who leads, and what fails beside the calls, of each
// kind the first in a minute. They log nothing on calls. A nil logger is slog.Default.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	var quiet quietly
	return Hooks{
		Changed: func(e Event) {
			logger.LogAttrs(context.Background(), changeLevel(e), "circuit changed", changeAttrs(e)...)
		},
		Led: func(e LeadEvent) {
			logger.LogAttrs(context.Background(), slog.LevelInfo, "breaker leads", slog.String("breaker", e.Manager.Name()), slog.Bool("leads", e.Leads))
		},
		Failed: func(e FailureEvent) {
			if more, ok := quiet.speak(e.Failure, time.Now()); ok {
				logger.LogAttrs(context.Background(), slog.LevelWarn, "breaker failed", slog.String("breaker", e.Manager.Name()),
					slog.String("failure", e.Failure.String()), slog.Any("error", e.Err), slog.Uint64("more", more))
			}
		},
	}
}

// changeLevel is a warning for what cuts somebody off.
func changeLevel(e Event) slog.Level {
	if e.DryRun || e.To == Closed || e.To == HalfOpen {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

func changeAttrs(e Event) []slog.Attr {
	return []slog.Attr{
		slog.String("breaker", e.Breaker), slog.String("tenant", e.Key.Tenant), slog.String("key", e.Key.ID),
		slog.String("from", e.From.String()), slog.String("to", e.To.String()), slog.String("reason", e.Reason.String()), slog.Int("trips", e.Trips),
		slog.Float64("failures", e.Failures), slog.Float64("successes", e.Successes), slog.Bool("dry_run", e.DryRun),
	}
}

// quietly lets one failure of each kind through at a time, and counts the others.
type quietly struct {
	mu     sync.Mutex
	since  [NumFailures]time.Time
	missed [NumFailures]uint64
}

// speak reports whether to log, and how many were not logged since.
func (q *quietly) speak(f Failure, now time.Time) (missed uint64, ok bool) {
	if int(f) >= NumFailures {
		return 0, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.since[f].IsZero() && now.Sub(q.since[f]) < quietFor {
		q.missed[f]++
		return 0, false
	}
	missed, q.missed[f], q.since[f] = q.missed[f], 0, now
	return missed, true
}
