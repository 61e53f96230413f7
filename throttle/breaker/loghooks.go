package breaker

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/ratelimitlog"
)

// quietFor is how long LogHooks says nothing more of a kind of failure.
const quietFor = time.Minute

// LogHooks returns hooks that log what a person wants to know: each change of a circuit, who leads, and what fails beside the calls, of each
// manager and kind the first in a minute. They log nothing on calls. A nil logger is slog.Default.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	var quiet ratelimitlog.Every[trouble]
	return Hooks{
		Closed: func(m *Manager) {
			for f := range NumFailures {
				quiet.Forget(trouble{m, Failure(f)})
			}
		},
		Changed: func(e Event) {
			logger.LogAttrs(context.Background(), changeLevel(e), "circuit changed", changeAttrs(e)...)
		},
		Led: func(e LeadEvent) {
			message := "breaker leads"
			if !e.Leads {
				message = "breaker leads no longer"
			}
			logger.LogAttrs(context.Background(), slog.LevelInfo, message, slog.String("breaker", e.Manager.Name()))
		},
		Failed: func(e FailureEvent) {
			if more, ok := quiet.Allow(trouble{e.Manager, e.Failure}, time.Now(), quietFor); ok {
				logger.LogAttrs(context.Background(), slog.LevelWarn, "breaker failed", slog.String("breaker", e.Manager.Name()),
					slog.String("failure", e.Failure.String()), slog.Any("error", e.Err), slog.Uint64("more", more))
			}
		},
	}
}

// trouble is what a manager may have of a kind.
type trouble struct {
	manager *Manager
	failure Failure
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
