package throttle

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/internal/check"
)

// logInterval is the time between two checks whether shedding has stopped.
const logInterval = time.Second

// LogHooks returns hooks that log each period of shedding of a priority in two lines, never one per
// call:
//   - a warning when the throttle starts to shed
//   - an info line when it has stopped, with the duration, the number of shed calls, the highest
//     probability, and the faults of the rejected calls since the last such line
//
// Shedding has stopped when the probability is 0 and [Config.SlowGate] has refused no call for a
// second, or when the mode changes. That is found at the next shed call, or by a timer that runs only while the throttle sheds and until its Close.
// ModeEnforce and ModeShadow have lines of their own. Each begin and end of an alert of [Tiered] is
// an info line too. A member of a [Group] adds its key. A nil logger means slog.Default().
//
// Calls shed with [CauseProcessor] have two lines for all throttles and priorities together: a warning
// with the wait and the share, 0.3 s after the first one, and an info line once none was shed for 5 s.
// So use one LogHooks for all throttles.
func LogHooks(logger *slog.Logger) Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	l := newShedLog(logger, Processor)
	return Hooks{Closed: l.closed, Shed: l.shed, PolicyChanged: l.policyChanged}
}

// policyChanged logs the begin or the end of an alert of the policy. The lines do not have that word: to an operator it
// means one of Prometheus.
func (l *shedLog) policyChanged(ctx context.Context, e PolicyEvent) {
	attrs := nameAttrs(e.Throttle)
	if e.After.Alert == NoAlert {
		l.logger.LogAttrs(ctx, slog.LevelInfo, "throttle detects no more overload", append(attrs, slog.String("reason", e.Before.Alert.String()),
			slog.Duration("duration", e.After.Since.Sub(e.Before.Since)))...)
		return
	}
	l.logger.LogAttrs(ctx, slog.LevelInfo, "throttle detected overload", append(attrs, slog.String("reason", e.After.Alert.String()),
		slog.Float64("background", shortened(e.After.Background)))...)
}

// shedLog holds the log state of each throttle that has shed a call.
type shedLog struct {
	logger *slog.Logger
	states sync.Map // *Throttle to *logState

	processor, shadowProcessor processorLog // calls of CauseProcessor, of all throttles
}

func newShedLog(logger *slog.Logger, stats func() ProcessorStats) *shedLog {
	return &shedLog{
		logger:          logger,
		processor:       processorLog{logger: logger, stats: stats},
		shadowProcessor: processorLog{logger: logger, stats: stats, shadow: true},
	}
}

// logState is the log state of one throttle.
type logState struct {
	mu       sync.Mutex
	throttle *Throttle
	logger   *slog.Logger
	timer    *time.Timer // runs while an episode is open
	closed   bool        // the throttle is closed
	episodes [MaxPriorities]episode
}

// episode is a period in which a throttle sheds one priority.
type episode struct {
	open    bool
	shadow  bool
	began   time.Time
	shed    uint64
	peak    float64
	limited bool              // the gate has refused a call since the last check: the probability may be 0
	faults  [numFaults]uint64 // rejections at the end of the last episode
}

func (l *shedLog) shed(ctx context.Context, e ShedEvent) {
	if e.Throttle.closed.Load() {
		return
	}
	if e.Cause == CauseProcessor {
		if e.Shadow {
			l.shadowProcessor.count(e.Priority)
		} else {
			l.processor.count(e.Priority)
		}
		return
	}
	s := l.stateOf(e.Throttle)
	begins, outdated := s.count(&e)
	if outdated {
		s.endEpisodes(hasStopped)
		begins, _ = s.count(&e)
	}
	if e.Throttle.closed.Load() { // Close may have run before the state existed
		defer l.closed(e.Throttle)
	}
	if begins {
		l.logger.LogAttrs(ctx, slog.LevelWarn, message(e.Shadow, "throttle started to shed", "throttle would start to shed"),
			s.attrs(e.Priority, slog.Float64("probability", shortened(e.Probability)), slog.String("cause", e.Cause.String()))...)
	}
}

// attrs returns the attributes that identify the throttle and the priority, then more.
func (s *logState) attrs(p Priority, more ...slog.Attr) []slog.Attr {
	return append(append(nameAttrs(s.throttle), slog.String("priority", p.String())), more...)
}

// shortened returns a number with three digits: enough for a reader of a log.
func shortened(n float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 3, 64), 64) // it reads all that FormatFloat writes
	return short
}

// nameAttrs returns the attributes that identify a throttle.
func nameAttrs(t *Throttle) []slog.Attr {
	attrs := []slog.Attr{slog.String("throttle", t.Name())}
	if key := t.Key(); key != "" {
		attrs = append(attrs, check.Attr("key", key))
	}
	return attrs
}

// count counts a shed call and reports whether an episode begins with it. It does not count a call
// that is outdated: the open episode has another mode than the throttle and must end first. A late
// call of a former mode begins no episode.
func (s *logState) count(e *ShedEvent) (begins, outdated bool) {
	current := sheds(s.throttle.tuning.Load().Mode, e.Shadow)
	s.mu.Lock()
	defer s.mu.Unlock()
	ep := &s.episodes[e.Priority]
	if ep.open && ep.shadow != e.Shadow && current {
		return false, true
	}
	begins = !ep.open && !s.closed && current
	if begins {
		ep.open, ep.shadow, ep.began, ep.shed, ep.peak = true, e.Shadow, time.Now(), 0, 0
		if s.timer == nil {
			s.timer = time.AfterFunc(logInterval, s.check)
		}
	}
	ep.shed++
	ep.limited = ep.limited || e.Cause == CauseLimit
	ep.peak = max(ep.peak, e.Probability)
	return begins, false
}

// sheds reports whether a throttle in mode m sheds, or in ModeShadow would shed.
func sheds(m Mode, shadow bool) bool { return m != ModeOff && (m == ModeShadow) == shadow }

// hasStopped reports whether an episode is over.
func hasStopped(m Mode, p *PriorityStats, ep *episode) bool {
	return p.Probability == 0 && !ep.limited || !sheds(m, ep.shadow)
}

func (l *shedLog) stateOf(t *Throttle) *logState {
	if s, ok := l.states.Load(t); ok {
		return s.(*logState)
	}
	s, _ := l.states.LoadOrStore(t, &logState{throttle: t, logger: l.logger})
	return s.(*logState)
}

func (l *shedLog) closed(t *Throttle) {
	if s, ok := l.states.LoadAndDelete(t); ok {
		s.(*logState).close()
	}
}

// close ends the open episodes, because the throttle was closed.
func (s *logState) close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.endEpisodes(func(Mode, *PriorityStats, *episode) bool { return true })
}

// check ends the episodes that are over. It runs again later if others are open.
func (s *logState) check() {
	unharmed(func() { s.endEpisodes(hasStopped) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	for p := range s.episodes {
		if s.episodes[p].open && !s.closed {
			s.timer = time.AfterFunc(logInterval, s.check)
			return
		}
	}
}

// unharmed calls f on the goroutine of a timer. A panic of the logger or of Config.Now costs a line there: without this it
// would end the process, because no other code can recover it.
func unharmed(f func()) {
	defer func() { _ = recover() }()
	f()
}

// endEpisodes ends and logs the open episodes for which stopped returns true.
func (s *logState) endEpisodes(stopped func(Mode, *PriorityStats, *episode) bool) {
	stats := s.throttle.Stats()
	for _, p := range stats.Priorities {
		s.mu.Lock()
		ep := &s.episodes[p.Priority]
		ended := ep.open && stopped(stats.Mode, &p, ep)
		ep.open, ep.limited = ep.open && !ended, false
		logged := *ep
		if ended {
			ep.faults = rejections(&p)
		}
		s.mu.Unlock()
		if ended {
			s.logEnd(p, logged)
		}
	}
}

func (s *logState) logEnd(p PriorityStats, ep episode) {
	s.logger.LogAttrs(context.Background(), slog.LevelInfo, message(ep.shadow, "throttle stopped shedding", "throttle would stop shedding"),
		s.attrs(p.Priority, slog.Duration("duration", time.Since(ep.began)), slog.Uint64("shed", ep.shed),
			slog.Float64("peak_probability", shortened(ep.peak)), faultsGroup(rejections(&p), ep.faults))...)
}

// rejections returns the calls that the backend rejected, by fault, including those that ModeShadow
// let through.
func rejections(p *PriorityStats) [numFaults]uint64 {
	all := p.Ended
	for _, shadow := range p.ShadowShed.All() {
		all.Merge(shadow)
	}
	return all.calls[Rejected]
}

// faultsGroup lists the faults of the calls that were rejected since before.
func faultsGroup(now, before [numFaults]uint64) slog.Attr {
	var kinds []any
	for f := range now {
		if n := now[f] - before[f]; n > 0 {
			kinds = append(kinds, slog.Uint64(Fault(f).String(), n))
		}
	}
	return slog.Group("faults", kinds...)
}

func message(shadow bool, enforced, dry string) string {
	if shadow {
		return dry
	}
	return enforced
}
