package backoff

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const logInterval = time.Minute

// LogHooks returns hooks that log when the delay is at its maximum, Config.MaxInterval. The service
// then throttles nearly all calls. It logs:
//   - a warning when the delay reaches its maximum
//   - an info line when the delay is below it again, with the time in between
//
// Both lines have the numbers of calls that succeeded and that were throttled since the last line.
// Each Responsive logs at most one warning per minute. If the delay reaches its maximum more often,
// the next warning has the number of suppressed ones. A nil logger means slog.Default().
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	l := &maximumLog{logger: logger, episodes: map[*Responsive]*episode{}}
	return Hooks{Closed: l.closed, Stepped: l.stepped}
}

// maximumLog holds an episode for each Responsive whose delay was at its maximum since it was
// created.
type maximumLog struct {
	logger   *slog.Logger
	mu       sync.Mutex
	episodes map[*Responsive]*episode
}

// episode is a period in which the delay is at its maximum, or the last one.
type episode struct {
	steps      uint64    // at the newest step: hooks may be called out of order
	open       bool      // its warning is logged, and its end is not
	began      time.Time // when the warning was logged
	suppressed uint64    // warnings since then
	logged     Stats     // at the last line
}

func (l *maximumLog) stepped(step StepEvent) {
	if write := l.next(step, step.Responsive.longest()); write != nil {
		write(l.logger)
	}
}

// next finds the episode of a step. It returns a function that logs it, or nil.
func (l *maximumLog) next(step StepEvent, longest time.Duration) func(*slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.episodes[step.Responsive]
	switch {
	case step.From < longest && step.To < longest && (e == nil || !e.open):
		return nil
	case step.Responsive.closing.Load(), e != nil && step.steps < e.steps:
		return nil
	case e == nil:
		e = &episode{}
		l.episodes[step.Responsive] = e
	}
	e.steps = step.steps + 1
	return e.next(step, step.To == longest, time.Now())
}

func (l *maximumLog) closed(r *Responsive) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.episodes, r)
}

// next begins or ends the episode with a step, and returns a function that logs it. It returns nil
// if there is nothing to log.
func (e *episode) next(step StepEvent, atMaximum bool, now time.Time) func(*slog.Logger) {
	switch {
	case atMaximum == e.open:
		return nil
	case atMaximum && !e.began.IsZero() && now.Sub(e.began) < logInterval:
		if step.From < step.To {
			e.suppressed++
		}
		return nil
	}
	r := step.Responsive
	r.mu.Lock()
	stats := r.statsLocked()
	r.mu.Unlock()
	level, message := slog.LevelInfo, "backoff: delay is below its maximum again"
	detail := slog.Duration("duration", now.Sub(e.began))
	if atMaximum {
		level, message = slog.LevelWarn, "backoff: service throttles nearly all calls, delay is at its maximum"
		detail = slog.Uint64("suppressed", e.suppressed)
		e.began, e.suppressed = now, 0
	}
	successes, throttled := stats.Successes-e.logged.Successes, stats.Throttled-e.logged.Throttled
	e.open, e.logged = atMaximum, stats
	return func(logger *slog.Logger) {
		logger.LogAttrs(context.Background(), level, message,
			slog.String("backoff", r.config.Name), slog.String("mode", r.config.Mode.String()), slog.Duration("delay", step.To),
			slog.Uint64("successes", successes), slog.Uint64("throttled", throttled), detail)
	}
}
