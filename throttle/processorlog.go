package throttle

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"
)

const (
	// processorLogDelay is the time from the first shed call to the line about it. The share rises
	// meanwhile.
	processorLogDelay = 300 * time.Millisecond
	// processorLogCalm is for how long nothing must be shed before the line about the end. With hardly
	// too much load, the process sheds a little every few seconds.
	processorLogCalm = 5 * time.Second
)

// processorLog logs the episodes in which this process sheds calls, because requests wait for a
// processor. All throttles with the same LogHooks share it.
type processorLog struct {
	logger *slog.Logger
	shadow bool                  // the calls are those of ModeShadow
	stats  func() ProcessorStats // Processor, except in tests

	mu sync.Mutex
	// The fields below are guarded by mu.
	open  bool
	began time.Time
	last  time.Time      // when the process was last found to shed
	first ProcessorStats // at the first shed call
	peak  float64        // highest share
	shed  [MaxPriorities]uint64
	seen  [MaxPriorities]uint64 // the same when it was last looked at
}

// count counts a shed call. An episode begins with the first one.
func (l *processorLog) count(p Priority) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		l.open, l.began, l.peak, l.shed = true, time.Now(), 0, [MaxPriorities]uint64{}
		l.first = l.look()
		time.AfterFunc(processorLogDelay, l.logBegin)
	}
	l.shed[p]++
}

// look returns the present state of the process. It notes the time if the process sheds.
func (l *processorLog) look() ProcessorStats {
	s := l.stats()
	l.peak = max(l.peak, s.Share)
	if s.Share > 0 || l.shed != l.seen {
		l.last, l.seen = time.Now(), l.shed
	}
	for _, d := range []*time.Duration{&s.Wait, &s.Aim, &s.Floor} {
		*d = d.Round(100 * time.Microsecond) // enough for a reader of a log
	}
	return s
}

func (l *processorLog) logBegin() {
	l.mu.Lock()
	s, shed := l.look(), l.shed
	if s.Share == 0 { // the episode is over
		s = l.first
	}
	l.mu.Unlock()
	var words []string
	var attrs []any
	for p := Priority(MaxPriorities - 1); p >= 0; p-- {
		if shed[p] > 0 && s.Probabilities[p] > 0 {
			words = append(words, fmt.Sprint(p, " ", percent(s.Probabilities[p])))
			attrs = append(attrs, slog.Float64(p.String(), shortened(s.Probabilities[p])))
		}
	}
	text := fmt.Sprintf("requests wait %s for a processor; %s %s (%s)", shortWait(s.Wait),
		message(l.shadow, "shedding", "would shed"), percent(s.Share), strings.Join(words, ", "))
	unharmed(func() {
		l.logger.LogAttrs(context.Background(), slog.LevelWarn, text, slog.Duration("wait", s.Wait), slog.Duration("aim", s.Aim),
			slog.Duration("floor", s.Floor), slog.Int("runnable", s.Runnable), slog.Int("processors", s.Processors),
			slog.Float64("share", shortened(s.Share)), slog.Group("probability", attrs...))
	})
	time.AfterFunc(logInterval, l.check)
}

// check ends the episode if it is over, and otherwise runs again later.
func (l *processorLog) check() {
	l.mu.Lock()
	s := l.look()
	ended := time.Since(l.last) >= processorLogCalm
	if ended {
		l.open = false
	} else {
		time.AfterFunc(logInterval, l.check)
	}
	duration, peak, sum := l.last.Sub(l.began), l.peak, uint64(0)
	for _, n := range l.shed {
		sum += n
	}
	l.mu.Unlock()
	if !ended {
		return
	}
	unharmed(func() {
		l.logger.LogAttrs(context.Background(), slog.LevelInfo,
			message(l.shadow, "process stopped shedding for the wait for a processor", "process would stop shedding for the wait for a processor"),
			slog.Duration("duration", duration.Round(time.Millisecond)), slog.Uint64("shed", sum), slog.Float64("peak_share", shortened(peak)),
			slog.Duration("wait", s.Wait), slog.Duration("floor", s.Floor))
	})
}

// percent returns a share in percent. Only exactly 0 and 1 become 0 % and 100 %.
func percent(share float64) string {
	n := math.Round(100 * share)
	if share > 0 && share < 1 {
		n = min(max(1, n), 99)
	}
	return fmt.Sprintf("%.0f %%", n)
}

// shortWait returns a wait in milliseconds, or from a second on in seconds.
func shortWait(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", 1000*d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
