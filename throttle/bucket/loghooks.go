package bucket

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/ratelimitlog"
)

// logInterval is the shortest time between two log records about the store of one limiter.
const logInterval = time.Minute

// LogHooks returns hooks that log a failure of the store, at most once a minute per limiter. The
// record has the policy that decides, and the number of failures that were not logged since the
// last one. A bad setting of the store is logged once. Denials are not logged: they are normal. If logger is nil, it uses slog.Default.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	var limit ratelimitlog.Every[*Limiter]
	return Hooks{
		Closed: func(l *Limiter) { limit.Forget(l) },
		StoreWarned: func(l *Limiter, err error) {
			logger.LogAttrs(context.Background(), slog.LevelWarn, "bucket: bad setting of the store",
				slog.String("limiter", l.Name()), slog.Any("error", err))
		},
		StoreCalled: func(ctx context.Context, e StoreEvent) {
			if e.Err == nil || ctx.Err() != nil {
				return
			}
			suppressed, ok := limit.Allow(e.Limiter, time.Now(), logInterval)
			if e.Limiter.closing.Load() { // Closed may have run before Allow
				limit.Forget(e.Limiter)
			}
			if ok {
				logger.LogAttrs(ctx, slog.LevelWarn, "bucket: store failed", slog.String("limiter", e.Limiter.Name()),
					slog.String("on_failure", e.Limiter.config.OnFailure.String()), slog.Any("error", e.Err), slog.Uint64("suppressed", suppressed))
			}
		},
	}
}
