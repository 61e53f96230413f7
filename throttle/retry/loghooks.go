package retry

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
	"github.com/spillway-go/spillway/throttle/internal/ratelimitlog"
)

const logInterval = time.Minute

// LogHooks returns hooks that log a warning if a call is not retried because the budget is used up,
// at most once a minute per Retrier. The record has the error of the call, and the number of such
// calls that were not logged since the last record. Retries, and denials for other reasons, are not
// logged: they are normal. A Retrier with a key adds it. A nil logger means slog.Default().
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	var limit ratelimitlog.Every[*Retrier]
	return Hooks{
		Closed: func(r *Retrier) { limit.Forget(r) },
		Denied: func(ctx context.Context, e DenyEvent) {
			if e.Reason != ReasonBudget {
				return
			}
			suppressed, ok := limit.Allow(e.Retrier, time.Now(), logInterval)
			if e.Retrier.closed.Load() { // Closed may have run before Allow
				limit.Forget(e.Retrier)
			}
			if ok {
				logger.LogAttrs(ctx, slog.LevelWarn, "retry: budget is used up", append(e.Retrier.logAttrs(),
					slog.Int("attempt", e.Attempt), slog.Any("error", e.Err), slog.Uint64("suppressed", suppressed))...)
			}
		},
	}
}

func (r *Retrier) logAttrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("retry", r.Name())}
	if key := r.Key(); key != "" {
		attrs = append(attrs, check.Attr("key", key))
	}
	return attrs
}
