package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// fleet runs the processes and counts their calls.
type fleet struct {
	settings settings
	out      io.Writer
	members  []*process
	cut      bool

	last    []int64                // calls of each process, at its last report
	granted map[bool]int64         // calls of all processes, by cut
	took    map[bool]time.Duration // duration, by cut
}

// run starts the processes and prints a line per second. For a third of the time it cuts the
// network to the store.
func run(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "quota-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	s.Bucket, s.File = fmt.Sprintf("quota-%08x", rand.Uint32()), filepath.Join(folder, "quota.db")
	_, closeStore, err := s.openStore(ctx) // so that a missing store is reported once
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	f := &fleet{
		settings: s, out: stdout, last: make([]int64, s.Processes), granted: map[bool]int64{}, took: map[bool]time.Duration{},
	}
	if err = f.start(ctx, stderr); err == nil {
		err = program.Every(ctx, time.Second, s.Duration, f.second)
	}
	if err = errors.Join(err, f.stop()); err == nil {
		f.summary()
	}
	return err
}

// start starts all processes, and returns when each has answered.
func (f *fleet) start(ctx context.Context, stderr io.Writer) error {
	s := f.settings
	for range s.Processes {
		p, err := startProcess(ctx, s, stderr)
		if err != nil {
			return err
		}
		f.members = append(f.members, p)
		s.Metrics = "" // only the first process serves
	}
	where := "SQLite"
	if s.Redis != "" {
		where = "Redis"
	}
	fmt.Fprintf(f.out, "A partner allows %d calls a second. %d processes share a bucket in %s that grants %d a second.\n",
		s.Quota, s.Processes, where, s.limit().Refill)
	fmt.Fprintf(f.out, "While the store gives no answer, the policy is %v.\n", s.Policy)
	for _, p := range f.members {
		r, err := p.ask(false)
		if err != nil {
			return err
		}
		if r.URL != "" {
			fmt.Fprintf(f.out, "metrics: %s/metrics   live page: %s/debug/throttle   (of the first process)\n", r.URL, r.URL)
		}
	}
	fmt.Fprintf(f.out, "\n  second  store    granted  by process\n")
	return nil
}

// second prints the calls of the last second, and cuts or restores the network for the next one.
func (f *fleet) second(elapsed time.Duration) error {
	third := 5 * time.Second
	if d := f.settings.Duration; d > 0 {
		third = min(third, max(time.Second, (d/3).Truncate(time.Second)))
	}
	cut := elapsed/third%3 == 1
	before, each := f.granted[f.cut], ""
	for i, p := range f.members {
		r, err := p.ask(cut)
		if err != nil {
			return err
		}
		each += fmt.Sprintf("%6d", r.Granted-f.last[i])
		f.count(i, r)
	}
	store := map[bool]string{false: "answers", true: "is gone"}[f.cut]
	fmt.Fprintf(f.out, "%8.0f  %s%9d  %s\n", elapsed.Seconds(), store, f.granted[f.cut]-before, each)
	f.took[f.cut] += time.Second
	f.cut = cut
	return nil
}

// count adds the calls of a report.
func (f *fleet) count(i int, r report) {
	f.granted[f.cut] += r.Granted - f.last[i]
	f.last[i] = r.Granted
}

// stop stops all processes and counts their last calls.
func (f *fleet) stop() error {
	var errs []error
	for _, p := range f.members {
		errs = append(errs, p.stdin.Close())
	}
	for i, p := range f.members {
		r, err := p.wait()
		errs = append(errs, err)
		if err == nil {
			f.count(i, r)
		}
	}
	return errors.Join(errs...)
}

// summary prints all calls, and the number that the partner allows: the quota for each second, and
// the calls of one more second as a burst.
func (f *fleet) summary() {
	took := f.took[false] + f.took[true]
	allowed := int64(float64(f.settings.Quota) * (1 + took.Seconds()))
	fmt.Fprintf(f.out, "\nwhile the store answered: %6d calls in %v\n", f.granted[false], f.took[false])
	fmt.Fprintf(f.out, "while the store was gone: %6d calls in %v\n", f.granted[true], f.took[true])
	fmt.Fprintf(f.out, "in all:                   %6d calls; the partner allows %d\n", f.granted[false]+f.granted[true], allowed)
}
