package breaker

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/ratelimitlog"
)

// logInterval is the interval within which LogHooks logs a kind of error once.
const logInterval = time.Minute

// LogHooks returns hooks that log these events, and none per call:
//
//   - every change of a circuit: a warning if the circuit starts to block calls;
//   - when the manager becomes the leader, and when it stops being the leader;
//   - errors of background tasks: for each manager and kind at most one warning per minute, with
//     the number of suppressed ones.
//
// A nil logger means slog.Default.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	var limit ratelimitlog.Every[failureKind]
	return Hooks{
		Closed: func(m *Manager) {
			for f := range Failure(numFailures) {
				limit.Forget(failureKind{m, f})
			}
		},
		Changed: func(e Event) {
			logger.LogAttrs(context.Background(), changeLevel(e), "breaker: circuit changed", changeAttrs(e)...)
		},
		Led: func(e LeadEvent) {
			message := "breaker: became leader"
			if !e.Leads {
				message = "breaker: no longer leader"
			}
			logger.LogAttrs(context.Background(), slog.LevelInfo, message, slog.String("breaker", e.Manager.Name()), slog.Uint64("term", e.Term))
		},
		Failed: func(e FailureEvent) {
			if suppressed, ok := limit.Allow(failureKind{e.Manager, e.Failure}, time.Now(), logInterval); ok {
				logger.LogAttrs(context.Background(), slog.LevelWarn, "breaker: background task failed", slog.String("breaker", e.Manager.Name()),
					slog.String("failure", e.Failure.String()), slog.Any("error", e.Err), slog.Uint64("suppressed", suppressed))
			}
		},
	}
}

// failureKind is the unit in which LogHooks limits errors.
type failureKind struct {
	manager *Manager
	failure Failure
}

// changeLevel is Warn for a change that makes a circuit block calls.
func changeLevel(e Event) slog.Level {
	if e.Shadow || e.To == Closed || e.To == HalfOpen {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

func changeAttrs(e Event) []slog.Attr {
	return []slog.Attr{
		slog.String("breaker", e.Breaker), check.Attr("tenant", e.Key.Tenant), check.Attr("key", e.Key.ID),
		slog.String("from", e.From.String()), slog.String("to", e.To.String()), slog.String("reason", e.Reason.String()), slog.Int("trips", e.Trips),
		slog.Float64("failures", e.Failures), slog.Float64("successes", e.Successes), slog.Bool("shadow", e.Shadow),
	}
}
