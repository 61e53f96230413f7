package throttle

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// processorLogged is a LogHooks whose log and whose state of the process a test has.
type processorLogged struct {
	*shedLog
	mu    sync.Mutex
	text  bytes.Buffer
	stats atomic.Pointer[ProcessorStats]
}

// Write and read are called by different goroutines.
func (l *processorLogged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// read returns the lines since the last call.
func (l *processorLogged) read() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

func newProcessorLogged() *processorLogged {
	l := &processorLogged{}
	l.set(ProcessorStats{})
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	l.shedLog = newShedLog(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
		func() ProcessorStats { return *l.stats.Load() })
	return l
}

func (l *processorLogged) set(s ProcessorStats) { l.stats.Store(&s) }

// sheds tells of n calls that a throttle sheds.
func (l *processorLogged) sheds(n int, th *Throttle, p Priority, shadow bool) {
	for range n {
		l.shed(context.Background(), ShedEvent{Throttle: th, Priority: p, Probability: 0.5, Cause: CauseProcessor, Shadow: shadow})
	}
}

// want fails the test if the log does not have these lines since it was last read.
func (l *processorLogged) want(t *testing.T, lines string) {
	t.Helper()
	wantSame(t, "log", l.read(), lines)
}

// An overload of the process: with no demand, priorities below Low have the probability of Low.
var (
	risingStats = ProcessorStats{Wait: 300 * time.Millisecond, Aim: 30 * time.Millisecond, Processors: 1, Share: 0.1, Probabilities: probabilities(0, 0, 0, 0.3)}
	shedStats   = ProcessorStats{
		Wait: 120423 * time.Microsecond, Aim: 30 * time.Millisecond, Floor: time.Millisecond, Runnable: 40, Processors: 2,
		Share: 0.6612, Probabilities: probabilities(0, 0, 0.9011, 1),
	}
)

func probabilities(high, important, medium, low float64) (all [MaxPriorities]float64) {
	for p := range all {
		all[p] = low
	}
	all[High], all[Important], all[Medium] = high, important, medium
	return all
}

const (
	shedLine = `level=WARN msg="requests wait 120 ms for a processor; shedding 66 % (low 100 %, medium 90 %)" ` +
		"wait=120.4ms aim=30ms floor=1ms runnable=40 processors=2 share=0.661 probability.low=1 probability.medium=0.901\n"
	shedEnd = `level=INFO msg="process stopped shedding for the wait for a processor" `
)

// TestProcessorLog has one line at the begin of an overload of two throttles, and one at its end.
func TestProcessorLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newProcessorLogged()
		shop, search := Must(New(Config{Name: "shop"})), Must(New(Config{Name: "search"}))
		l.set(risingStats)
		l.sheds(2, shop, Low, false)
		time.Sleep(processorLogDelay - 1)
		l.want(t, "")
		l.set(shedStats)
		l.sheds(3, search, Medium, false)
		time.Sleep(time.Nanosecond)
		l.want(t, shedLine)
		for range 60 {
			time.Sleep(time.Second)
			l.sheds(1, search, Low, false)
		}
		l.set(ProcessorStats{Wait: 2 * time.Millisecond, Floor: time.Millisecond})
		time.Sleep(3500 * time.Millisecond)
		l.sheds(1, shop, Low, false) // hardly too much load: the episode goes on
		_ = shop.Close()
		time.Sleep(5 * time.Second)
		l.want(t, "")
		time.Sleep(time.Second)
		l.want(t, shedEnd+"duration=1m4.3s shed=66 peak_share=0.661 wait=2ms floor=1ms\n")
		time.Sleep(time.Hour)
		l.want(t, "")

		l.set(shedStats)
		l.sheds(1, search, Low, false)
		l.set(ProcessorStats{})
		time.Sleep(processorLogDelay) // the wait has gone: the line has the figures of the first shed call
		l.want(t, `level=WARN msg="requests wait 120 ms for a processor; shedding 66 % (low 100 %)" `+
			"wait=120.4ms aim=30ms floor=1ms runnable=40 processors=2 share=0.661 probability.low=1\n")
		time.Sleep(time.Minute)
		l.want(t, shedEnd+"duration=300ms shed=1 peak_share=0.661 wait=0s floor=0s\n")
	})
}

// TestProcessorLog_shadow has lines of its own.
func TestProcessorLog_shadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newProcessorLogged()
		th := Must(New(Config{Name: "shop", Mode: ModeShadow}))
		l.set(ProcessorStats{Wait: 2340 * time.Millisecond, Processors: 1, Share: 0.999, Probabilities: probabilities(0.002, 1, 1, 1)})
		l.sheds(1, th, High, true)
		l.sheds(1, th, Important, true)
		time.Sleep(time.Second)
		l.want(t, `level=WARN msg="requests wait 2.3 s for a processor; would shed 99 % (important 100 %, high 1 %)" `+
			"wait=2.34s aim=0s floor=0s runnable=0 processors=1 share=0.999 probability.important=1 probability.high=0.002\n")
		l.set(ProcessorStats{})
		time.Sleep(time.Minute)
		l.want(t, `level=INFO msg="process would stop shedding for the wait for a processor" `+
			"duration=300ms shed=2 peak_share=0.999 wait=0s floor=0s\n")
	})
}

// TestProcessorLog_logHooks has the state of this process, which sheds nothing.
func TestProcessorLog_logHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newProcessorLogged()
		th, hooks := Must(New(Config{Name: "shop"})), LogHooks(l.logger)
		for p := range Priority(StandardPriorities) {
			hooks.Shed(context.Background(), ShedEvent{Throttle: th, Priority: p, Cause: CauseProcessor, Shadow: p == Low})
		}
		time.Sleep(processorLogDelay)
		text := l.read()
		for _, want := range []string{"level=WARN", " for a processor; shedding 0 %", " for a processor; would shed 0 %"} {
			if !strings.Contains(text, want) {
				t.Errorf("got log %q want %q in it", text, want)
			}
		}
		wantSame(t, "lines", strings.Count(text, "\n"), 2)
	})
}

type noDisk struct{}

func (noDisk) Write([]byte) (int, error) { panic("disk full") }

// TestProcessorLog_panic has a logger that panics in the goroutine of a timer. It costs the line only: the episode ends.
func TestProcessorLog_panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, th := newProcessorLogged(), Must(New(Config{Name: "shop"}))
		l.shedLog = newShedLog(slog.New(slog.NewTextHandler(noDisk{}, nil)), func() ProcessorStats { return *l.stats.Load() })
		l.sheds(1, th, Low, false)
		time.Sleep(time.Minute)
		l.processor.mu.Lock()
		defer l.processor.mu.Unlock()
		if l.processor.open {
			t.Error("got an episode without an end")
		}
	})
}
