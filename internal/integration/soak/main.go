// Soak runs the examples storefront, webhooks and batch side by side, with faults, and reports what is wrong with them and
// what grows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// settings say how to soak.
type settings struct {
	duration time.Duration
	every    time.Duration // between two samples
	race     bool          // build the examples with the race detector
}

// patience is the longest wait: for an address, for an answer, for the end of a program, and for faults to have an effect.
const patience = 2 * time.Minute

func main() {
	s := settings{every: 5 * time.Second}
	flag.DurationVar(&s.duration, "duration", 10*time.Minute, "how long the examples run; growth is judged from 3m on")
	flag.BoolVar(&s.race, "race", true, "build the examples with the race detector")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// examples returns what runs, with its flags and with the counter that proves the trouble. Webhooks has few endpoints,
// because a machine that cannot keep up makes endpoints look dead.
func examples() []*child {
	return []*child{
		{name: "storefront", flags: []string{"-listen", "127.0.0.1:0"}, proof: proof{"throttle_calls_total", "throttle_decision", "shed"}},
		{
			name: "webhooks", flags: []string{"-metrics", "127.0.0.1:0", "-duration", "0", "-endpoints", "40"},
			proof: proof{"throttle_breaker_transitions_total", "throttle_breaker_state", "open"},
		},
		{
			name: "batch", flags: []string{"-metrics", "127.0.0.1:0", "-duration", "0"},
			proof: proof{"throttle_backoff_calls_total", "throttle_backoff_outcome", "throttled"},
		},
	}
}

// soak runs the examples until the duration is over or ctx ends, prints what they needed, and returns what was wrong.
func soak(ctx context.Context, s settings, out io.Writer) error {
	folder, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	children := examples()
	if err := build(ctx, s.race, folder, children); err != nil {
		return err
	}
	for _, c := range children {
		defer c.kill()
		if err := c.start(ctx, folder); err != nil {
			return err
		}
		fmt.Fprintln(out, "soak:", c.name, "is at", c.url)
	}
	trouble := run(ctx, s, children, out)
	var ends sync.WaitGroup
	for _, c := range children {
		ends.Go(c.end)
	}
	ends.Wait()
	var faults []string
	for _, c := range children {
		faults = append(faults, c.judge(out)...)
	}
	if faults = append(faults, trouble.missing()...); len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

// run lets the examples run, with trouble, and takes samples. It goes on for a while if the trouble has had no effect yet.
func run(ctx context.Context, s settings, children []*child, out io.Writer) *trouble {
	running, stop := context.WithCancel(ctx)
	trouble := &trouble{every: min(max(s.duration/60, time.Second), 5*time.Second)}
	var all sync.WaitGroup
	for _, c := range children {
		all.Go(func() { c.watch(running) })
		all.Go(func() { trouble.abandon(running, c) })
	}
	all.Go(func() { trouble.control(running, children[0]) })
	all.Go(func() { trouble.freeze(running, children) })
	begun := time.Now()
	for rest(ctx, s.every) {
		waits := len(trouble.missing()) > 0
		for _, c := range children {
			waits = c.sample(out, time.Since(begun)) == 0 || waits
		}
		over := slices.ContainsFunc(children, (*child).over)
		if took := time.Since(begun); over || took > s.duration && !waits || took > s.duration+patience {
			break
		}
	}
	stop()
	all.Wait()
	return trouble
}

// rest waits, and reports false if ctx ended before.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
