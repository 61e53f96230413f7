// Soak runs the examples storefront, webhooks and batch side by side and disrupts them. It reports
// errors, and heap, goroutines or open files that grow.
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

// settings are the settings of a run.
type settings struct {
	duration time.Duration
	every    time.Duration // between two samples
	race     bool          // build the examples with the race detector
}

// timeout limits each wait: for an address, for an answer, for the end of a program, and for an
// effect of the disruption.
const timeout = 2 * time.Minute

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

// examples returns the examples with their flags, and with the counter that shows the effect of the
// disruption. Webhooks has few endpoints, because a machine that is too slow for many makes healthy
// endpoints look dead.
func examples() []*child {
	return []*child{
		{name: "storefront", flags: []string{"-listen", "127.0.0.1:0"}, symptom: symptom{"throttle_calls_total", "throttle_decision", "shed"}},
		{
			name: "webhooks", flags: []string{"-metrics", "127.0.0.1:0", "-duration", "0", "-endpoints", "40"},
			symptom: symptom{"throttle_breaker_transitions_total", "throttle_breaker_state", "open"},
		},
		{
			name: "batch", flags: []string{"-metrics", "127.0.0.1:0", "-duration", "0"},
			symptom: symptom{"throttle_backoff_calls_total", "throttle_backoff_outcome", "throttled"},
		},
	}
}

// soak runs the examples for the duration or until ctx ends. It prints samples and returns the problems.
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
	disruption := run(ctx, s, children, out)
	var ends sync.WaitGroup
	for _, c := range children {
		ends.Go(c.end)
	}
	ends.Wait()
	var problems []string
	for _, c := range children {
		problems = append(problems, c.report(out)...)
	}
	if problems = append(problems, disruption.missing()...); len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}

// run disrupts the examples and takes samples for the duration. It continues for up to timeout if the
// disruption has had no effect yet.
func run(ctx context.Context, s settings, children []*child, out io.Writer) *disruption {
	running, stop := context.WithCancel(ctx)
	disruption := &disruption{every: min(max(s.duration/60, time.Second), 5*time.Second)}
	var all sync.WaitGroup
	for _, c := range children {
		all.Go(func() { c.watch(running) })
		all.Go(func() { disruption.abandon(running, c) })
	}
	all.Go(func() { disruption.control(running, children[0]) })
	all.Go(func() { disruption.freeze(running, children) })
	begun := time.Now()
	for sleep(ctx, s.every) {
		waits := len(disruption.missing()) > 0
		for _, c := range children {
			waits = c.sample(out, time.Since(begun)) == 0 || waits
		}
		ended := slices.ContainsFunc(children, (*child).hasEnded)
		if took := time.Since(begun); ended || took > s.duration && !waits || took > s.duration+timeout {
			break
		}
	}
	stop()
	all.Wait()
	return disruption
}

// sleep waits for d. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
