package throttle

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logInterval is how often a throttle that sheds is looked at, to see whether it has stopped.
const logInterval = time.Second

// LogHooks returns hooks that tell the story in words: one warning when a throttle starts to shed a priority, and one line when
// it has stopped, with how long it took, how many calls were shed, the highest probability, and the faults that
// the backend answered with since the last time. There is never a line per call.
//
// Shedding has stopped when its probability is back at 0, or when the mode has changed: what Enforce sheds, Shadow would shed, and each
// has a beginning and an end of its own, in its own words. That is found by the next shed call, or by a timer which runs while a
// throttle is shedding, and no longer than until its Close. A nil logger is slog.Default().
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	l := &shedLog{logger: logger}
	return Hooks{Closed: l.closed, Shed: l.shed}
}

// shedLog knows the throttles that have ever shed.
type shedLog struct {
	logger  *slog.Logger
	stories sync.Map // *Throttle to *story
}

// story is what is going on at one throttle.
type story struct {
	mu       sync.Mutex
	throttle *Throttle
	logger   *slog.Logger
	timer    *time.Timer // runs while an episode is open
	over     bool        // the throttle is closed
	episodes [MaxPriorities]episode
}

// episode is a time of shedding of one priority.
type episode struct {
	open   bool
	shadow bool
	began  time.Time
	shed   uint64
	peak   float64
	faults [NumFaults]uint64 // rejections when the last episode ended
}

func (l *shedLog) shed(ctx context.Context, e ShedEvent) {
	if e.Throttle.closed.Load() {
		return
	}
	s := l.storyOf(e.Throttle)
	begins, outdated := s.note(&e)
	if outdated {
		s.settle(hasStopped)
		begins, _ = s.note(&e)
	}
	if e.Throttle.closed.Load() { // perhaps before there was a story to end
		defer l.closed(e.Throttle)
	}
	if begins {
		l.logger.LogAttrs(ctx, slog.LevelWarn, headline(e.Shadow, "throttle started to shed", "throttle would start to shed"),
			slog.String("throttle", e.Throttle.Name()), slog.String("priority", e.Priority.String()),
			slog.Float64("probability", e.Probability), slog.String("cause", e.Cause.String()))
	}
}

// note counts a shed call, and reports whether it begins an episode. It leaves a call uncounted that is outdated: whose episode is of
// another mode than the call and the throttle, and must end first. A call that comes late, of a mode that is over, begins none.
func (s *story) note(e *ShedEvent) (begins, outdated bool) {
	current := sheds(s.throttle.tuning.Load().Mode, e.Shadow)
	s.mu.Lock()
	defer s.mu.Unlock()
	ep := &s.episodes[e.Priority]
	if ep.open && ep.shadow != e.Shadow && current {
		return false, true
	}
	begins = !ep.open && !s.over && current
	if begins {
		ep.open, ep.shadow, ep.began, ep.shed, ep.peak = true, e.Shadow, time.Now(), 0, 0
		if s.timer == nil {
			s.timer = time.AfterFunc(logInterval, s.look)
		}
	}
	ep.shed++
	ep.peak = max(ep.peak, e.Probability)
	return begins, false
}

// sheds reports whether a throttle in mode m sheds, or in Shadow would.
func sheds(m Mode, shadow bool) bool { return m != ModeOff && (m == ModeShadow) == shadow }

// hasStopped reports whether an episode of shedding is over.
func hasStopped(m Mode, p *PriorityStats, ep *episode) bool {
	return p.Probability == 0 || !sheds(m, ep.shadow)
}

func (l *shedLog) storyOf(t *Throttle) *story {
	if s, ok := l.stories.Load(t); ok {
		return s.(*story)
	}
	s, _ := l.stories.LoadOrStore(t, &story{throttle: t, logger: l.logger})
	return s.(*story)
}

func (l *shedLog) closed(t *Throttle) {
	if s, ok := l.stories.LoadAndDelete(t); ok {
		s.(*story).end()
	}
}

// end ends the episodes that are open, because the throttle closes.
func (s *story) end() {
	s.mu.Lock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.settle(func(Mode, *PriorityStats, *episode) bool { return true })
}

// look ends the episodes whose priority is no longer shed, and looks again later if others are open.
func (s *story) look() {
	s.settle(hasStopped)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	for p := range s.episodes {
		if s.episodes[p].open && !s.over {
			s.timer = time.AfterFunc(logInterval, s.look)
			return
		}
	}
}

// settle ends and logs the open episodes that have stopped.
func (s *story) settle(stopped func(Mode, *PriorityStats, *episode) bool) {
	stats := s.throttle.Stats()
	for _, p := range stats.Priorities {
		s.mu.Lock()
		ep := &s.episodes[p.Priority]
		ended := ep.open && stopped(stats.Mode, &p, ep)
		ep.open = ep.open && !ended
		told := *ep
		if ended {
			ep.faults = rejections(&p)
		}
		s.mu.Unlock()
		if ended {
			s.tellEnd(p, told)
		}
	}
}

// tellEnd logs the end of an episode.
func (s *story) tellEnd(p PriorityStats, ep episode) {
	s.logger.LogAttrs(context.Background(), slog.LevelInfo, headline(ep.shadow, "throttle stopped shedding", "throttle would stop shedding"),
		slog.String("throttle", s.throttle.Name()), slog.String("priority", p.Priority.String()),
		slog.Duration("duration", time.Since(ep.began)), slog.Uint64("shed", ep.shed),
		slog.Float64("peak_probability", ep.peak), faultsGroup(rejections(&p), ep.faults))
}

// rejections are the calls that the backend rejected, by fault, those included that Shadow let through.
func rejections(p *PriorityStats) [NumFaults]uint64 {
	all := p.Ended
	for _, shadow := range p.ShadowShed.All() {
		all.Merge(shadow)
	}
	return all.calls[Rejected]
}

// faultsGroup lists the kinds of faults by which calls were rejected since before, most important kinds in their order.
func faultsGroup(now, before [NumFaults]uint64) slog.Attr {
	var kinds []any
	for f := range now {
		if n := now[f] - before[f]; n > 0 {
			kinds = append(kinds, slog.Uint64(Fault(f).String(), n))
		}
	}
	return slog.Group("faults", kinds...)
}

func headline(shadow bool, enforced, dry string) string {
	if shadow {
		return dry
	}
	return enforced
}
