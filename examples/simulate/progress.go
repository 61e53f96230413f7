package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	barWidth    = 24
	redrawEvery = 100 * time.Millisecond
	clearLine   = "\r\x1b[K"
)

// progress shows the progress of the runs on a terminal. The methods of a nil progress do nothing.
type progress struct {
	terminal io.Writer
	begun    time.Time

	mu      sync.Mutex
	weights []float64 // of the runs, in calls
	done    []float64 // completed share of each run, from 0 to 1
}

// newProgress returns nil unless f is a terminal.
func newProgress(f *os.File, s settings) *progress {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return progressOn(f, plan(s))
}

func progressOn(terminal io.Writer, runs []run) *progress {
	p := &progress{terminal: terminal, begun: time.Now(), done: make([]float64, len(runs))}
	for _, r := range runs {
		p.weights = append(p.weights, weight(r))
	}
	return p
}

// weight returns the approximate number of calls in a run. The duration of a run depends on it.
func weight(r run) float64 {
	calls := 1.0
	for _, c := range r.scenario.Cases {
		for _, phase := range c.Phases {
			for _, load := range phase.Load {
				calls += load * r.scenario.Capacity * phase.Length.Seconds()
			}
		}
	}
	return calls
}

// set records the progress of a run. It reads no clock, because it may be called in a bubble.
func (p *progress) set(run int, done float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[run] = done
}

// watch draws the line periodically until stop is called. stop clears the line.
func (p *progress) watch() (stop func()) {
	if p == nil {
		return func() {}
	}
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(redrawEvery)
		defer ticker.Stop()
		for {
			fmt.Fprint(p.terminal, clearLine+p.line(time.Since(p.begun)))
			select {
			case <-ticker.C:
			case <-stopping:
				fmt.Fprint(p.terminal, clearLine)
				return
			}
		}
	}()
	return func() { close(stopping); <-stopped }
}

// line returns the text of the line at a time since the beginning.
func (p *progress) line(passed time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	complete, part, whole := 0, 0.0, 0.0
	for i, done := range p.done {
		if done >= 1 {
			complete++
		}
		part, whole = part+done*p.weights[i], whole+p.weights[i]
	}
	share := part / whole
	filled := int(share * barWidth)
	text := fmt.Sprintf("[%s%s] %3d %%  %d of %d runs", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled),
		int(share*100), complete, len(p.done))
	if share >= 0.01 && passed >= time.Second {
		text += "  " + duration(time.Duration(float64(passed)*(1-share)/share)) + " left"
	}
	return text
}

// duration formats a time, such as "10 min 00 s".
func duration(d time.Duration) string {
	switch seconds := int(d.Round(time.Second).Seconds()); {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%d min %02d s", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%d h %02d min", seconds/3600, seconds/60%60)
	}
}
