package backoff

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// quietFor is how long LogHooks says nothing more of a delay that comes to its longest again and again.
const quietFor = time.Minute

// LogHooks returns hooks that tell the story in words: one warning when the delay has become the longest there is, Config.MaxInterval or where
// Config.Up ends, because then the service refuses nearly everything; and one line when it has left that, with how long it took and what
// became of calls meanwhile. A delay that comes there again within a minute of the last warning is not worth another: more counts these, and the
// next warning says how many they were. There is never a line per call. A nil logger is slog.Default.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	l := &longestLog{logger: logger, stories: map[*Responsive]*story{}}
	return Hooks{Closed: l.closed, Stepped: l.stepped}
}

// longestLog knows the delays that have ever been the longest.
type longestLog struct {
	logger  *slog.Logger
	mu      sync.Mutex
	stories map[*Responsive]*story
}

// story is what was said of one delay.
type story struct {
	steps  uint64    // at the last step that was heard of: steps are told by several goroutines, in any order
	open   bool      // it is the longest, and that was said
	said   time.Time // when that was said last
	more   uint64    // times that it was the longest since, and nothing was said
	before Stats     // at the last line
}

func (l *longestLog) stepped(e StepEvent) {
	longest := e.Responsive.config.longest()
	if e.From < longest && e.To < longest {
		return
	}
	l.mu.Lock()
	s := l.storyOf(e.Responsive)
	if s == nil || e.steps < s.steps {
		l.mu.Unlock()
		return
	}
	s.steps = e.steps + 1
	tell := s.turn(e, e.To == longest, time.Now())
	l.mu.Unlock()
	if tell != nil {
		tell(l.logger)
	}
}

// storyOf returns the story of a delay, unless that is closed.
func (l *longestLog) storyOf(r *Responsive) *story {
	if r.closing.Load() {
		return nil
	}
	s := l.stories[r]
	if s == nil {
		s = &story{}
		l.stories[r] = s
	}
	return s
}

func (l *longestLog) closed(r *Responsive) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.stories, r)
}

// turn notes a step from or to the longest delay, and returns what there is to say of it, if anything.
func (s *story) turn(e StepEvent, longest bool, now time.Time) func(*slog.Logger) {
	switch {
	case longest == s.open:
		return nil
	case longest && !s.said.IsZero() && now.Sub(s.said) < quietFor:
		if e.From < e.To {
			s.more++
		}
		return nil
	}
	r := e.Responsive
	r.mu.Lock()
	stats := r.stats()
	r.mu.Unlock()
	level, message, number := slog.LevelInfo, "backoff has left its longest delay", slog.Duration("duration", now.Sub(s.said))
	if longest {
		level, message, number = slog.LevelWarn, "backoff is at its longest delay", slog.Uint64("more", s.more)
		s.said, s.more = now, 0
	}
	served, throttled := stats.Successes-s.before.Successes, stats.Throttled-s.before.Throttled
	s.open, s.before = longest, stats
	return func(logger *slog.Logger) {
		logger.LogAttrs(context.Background(), level, message, slog.String("backoff", r.config.Name), slog.String("mode", r.config.Mode.String()),
			slog.Duration("delay", e.To), slog.Uint64("successes", served), slog.Uint64("throttled", throttled), number)
	}
}
