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
	wipe        = "\r\x1b[K"
)

// Progress tells a terminal how far the runs have come. A nil one tells nobody.
type progress struct {
	terminal io.Writer
	begun    time.Time

	mu      sync.Mutex
	weights []float64 // of the runs, in calls
	done    []float64 // of each run, from 0 to 1
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

// weight returns about how many calls are offered in a run, which is what its length depends on.
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

// at notes how much of a run is done. It may be called from a bubble, where it is another time, so it looks at no clock.
func (p *progress) at(run int, done float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[run] = done
}

// watch draws the line again and again, until it is told to stop and wipes it.
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
			fmt.Fprint(p.terminal, wipe+p.line(time.Since(p.begun)))
			select {
			case <-ticker.C:
			case <-stopping:
				fmt.Fprint(p.terminal, wipe)
				return
			}
		}
	}()
	return func() { close(stopping); <-stopped }
}

// line returns what is to be seen so long after the beginning.
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

// duration writes a time as people say it.
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
