package bucket

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/ratelimitlog"
)

// quietFor is how long LogHooks says nothing more of a limiter's store.
const quietFor = time.Minute

// LogHooks returns hooks that log when a store gives no answer, of each limiter the first time in a minute. They log nothing of denials, which are
// how a limiter works. A nil logger is slog.Default.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	var quiet ratelimitlog.Every[*Limiter]
	return Hooks{
		Closed: func(l *Limiter) { quiet.Forget(l) },
		Asked: func(ctx context.Context, e StoreEvent) {
			if e.Err == nil || ctx.Err() != nil {
				return
			}
			more, ok := quiet.Allow(e.Limiter, time.Now(), quietFor)
			if e.Limiter.closing.Load() { // perhaps since it was forgotten
				quiet.Forget(e.Limiter)
			}
			if ok {
				logger.LogAttrs(ctx, slog.LevelWarn, "bucket's store failed", slog.String("limiter", e.Limiter.Name()),
					slog.String("on_failure", e.Limiter.config.OnFailure.String()), slog.Any("error", e.Err), slog.Uint64("more", more))
			}
		},
	}
}
