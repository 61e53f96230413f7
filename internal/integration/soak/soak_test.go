package soak

import (
	"context"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/integration/program"
)

var (
	duration = flag.Duration("duration", 10*time.Second, "how long the examples run; growth is judged from 3m on")
	detect   = flag.Bool("detect", true, "build the examples with the race detector")
)

// TestSoak runs the examples for the duration, or until there was disruption of each kind. Only make soak
// runs long enough to judge growth.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("builds three examples with the race detector, and runs them for half a minute")
	}
	children, temporary := examples(), t.TempDir()
	folder := build(t, children)
	t.Setenv("TMPDIR", temporary)
	t.Cleanup(func() { // when the examples have ended
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("temporary folder: got %v, error %v want it empty", left, err)
		}
	})
	for _, c := range children {
		c.start(t, folder)
	}
	d := run(t, children)
	for _, c := range children {
		c.report(t)
	}
	if !d.complete() {
		t.Errorf("too few disruptions: %v: want each above 0", d)
	}
}

// run disrupts the examples and takes samples for the duration. It continues for up to program.Timeout if the
// disruption has had no effect yet.
func run(t *testing.T, children []*child) *disruption {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &disruption{every: min(max(*duration/60, time.Second), 5*time.Second)}
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for _, c := range children {
		all.Go(func() { c.watch(ctx) })
		all.Go(func() { d.abandon(ctx, c) })
	}
	all.Go(func() { d.control(ctx, children[0]) })
	all.Go(func() { d.freeze(ctx, children) })
	for begun := time.Now(); program.Sleep(ctx, d.every); {
		waits, ended := !d.complete(), false
		for _, c := range children {
			waits = c.sample(t, time.Since(begun)) == 0 || waits
			ended = c.HasEnded() || c.checkOutput(t) || ended
		}
		if took := time.Since(begun); ended || took > *duration && !waits || took > *duration+program.Timeout {
			break
		}
	}
	return d
}

func TestGrown(t *testing.T) {
	line := func(first, slope float64) (samples []sample) {
		for i := range 60 {
			samples = append(samples, sample{first + slope*float64(i), 20, 10})
		}
		return samples
	}
	for name, tt := range map[string]struct {
		samples []sample
		want    bool
	}{
		"flat":     {line(40, 0), false},
		"a little": {line(40, 0.05), false},
		"a leak":   {line(40, 0.5), true},
		"a peak":   {append(line(40, 0), sample{400, 20, 10}), false},
		"warms up": {append(line(2, 1)[:20], line(22, 0)...), false},
		"short":    {line(40, 10)[:fewestSamples-1], false},
	} {
		if _, got := grown(tt.samples); (len(got) > 0) != tt.want {
			t.Errorf("%s: got %q want a problem: %v", name, got, tt.want)
		}
	}
}
