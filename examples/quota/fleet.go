package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
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

// report is a line of JSON from a process to its parent.
type report struct {
	Granted int64  // calls since the start
	URL     string `json:",omitempty"` // of the metrics
}

// process is the parent's side of a member.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	reports *json.Decoder
}

// startProcess starts this program again, as a member. The process ends with its standard input,
// not with ctx, so that it can write its last report.
func startProcess(ctx context.Context, s settings, stderr io.Writer) (*process, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), executable)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", settingsVariable, text))
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd, stdin, json.NewDecoder(stdout)}, cmd.Start()
}

// ask cuts or restores the network of the process, and returns its report.
func (p *process) ask(cut bool) (r report, err error) {
	_, err = fmt.Fprintln(p.stdin, cut)
	if err == nil {
		err = p.reports.Decode(&r)
	}
	if err != nil {
		err = fmt.Errorf("process %d does not answer: %w", p.cmd.Process.Pid, err)
	}
	return r, err
}

// wait waits for the process, whose standard input must be closed, and returns its last report.
func (p *process) wait() (r report, err error) {
	err = p.reports.Decode(&r)
	if waitErr := p.cmd.Wait(); waitErr != nil {
		err = fmt.Errorf("process %d: %w", p.cmd.Process.Pid, waitErr) // replaces the error of Decode, which is less useful
	}
	return r, err
}
