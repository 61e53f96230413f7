package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// graceOfEnd is how long a member may take to end by itself.
const graceOfEnd = 10 * time.Second

// handle is how the parent holds a member.
type handle struct {
	name   string
	place  int // among the members: who replaces it has the same
	cmd    *exec.Cmd
	orders io.Closer     // its standard input
	gone   chan struct{} // closed when its standard output has ended

	mu     sync.Mutex
	last   report
	heard  uint64 // how many reports there were
	killed bool
}

// startMember starts this program once more, as a member.
func startMember(ctx context.Context, o orders, place int, stderr io.Writer) (*handle, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Not with ctx: it is asked to end before it is killed.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program)
	cmd.Env = append(os.Environ(), memberVariable+"=1")
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &handle{name: o.Name, place: place, cmd: cmd, orders: in, gone: make(chan struct{})}
	go h.listen(out)
	if err := json.NewEncoder(in).Encode(o); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

// listen keeps the member's last report.
func (h *handle) listen(out io.Reader) {
	defer close(h.gone)
	reports := json.NewDecoder(out)
	for {
		var r report
		if err := reports.Decode(&r); err != nil {
			return
		}
		h.mu.Lock()
		if r.Metrics == "" {
			r.Metrics = h.last.Metrics
		}
		h.last = r
		h.heard++
		h.mu.Unlock()
	}
}

// report returns the last report.
func (h *handle) report() report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// reports returns how many there were.
func (h *handle) reports() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

// check returns why the member has ended, if it has and nobody has told it to.
func (h *handle) check() error {
	select {
	case <-h.gone:
	default:
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.killed:
		return nil
	case h.last.Failure != "":
		return fmt.Errorf("process %s: %s", h.name, h.last.Failure)
	}
	return fmt.Errorf("process %s has ended", h.name)
}

// kill ends the member as a crash would.
func (h *handle) kill() error {
	h.mu.Lock()
	h.killed = true
	h.mu.Unlock()
	if err := h.cmd.Process.Kill(); err != nil {
		return err
	}
	err := h.orders.Close() // before Wait does
	<-h.gone
	_ = h.cmd.Wait() // says that it was killed
	return err
}

// stop asks the member to end, and kills it if it does not.
func (h *handle) stop() error {
	if err := h.orders.Close(); err != nil {
		return err
	}
	late := time.AfterFunc(graceOfEnd, func() { _ = h.cmd.Process.Kill() }) // it may have ended of itself just now
	defer late.Stop()
	<-h.gone
	err := h.check()
	if waited := h.cmd.Wait(); waited == nil {
		err = nil // it has ended well
	}
	return err
}

// fleet is the members that there are.
type fleet struct {
	members []*handle
	ever    []*handle // the dead ones among them
}

// add adds a member.
func (f *fleet) add(h *handle) {
	f.members = append(f.members, h)
	f.ever = append(f.ever, h)
}

// check returns what ails the members.
func (f *fleet) check() error {
	var errs []error
	for _, h := range f.members {
		errs = append(errs, h.check())
	}
	return errors.Join(errs...)
}

// kill kills the first member, and returns it.
func (f *fleet) kill() (*handle, error) {
	h := f.members[0]
	f.members = f.members[1:]
	return h, h.kill()
}

// stop ends all members.
func (f *fleet) stop() error {
	errs := make([]error, len(f.members))
	var all sync.WaitGroup
	for i, h := range f.members {
		all.Go(func() { errs[i] = h.stop() })
	}
	all.Wait()
	f.members = nil
	return errors.Join(errs...)
}

// everybody is the names of all that ever were members.
func (f *fleet) everybody() (names []string) {
	for _, h := range f.ever {
		names = append(names, h.name)
	}
	return names
}

// names are those of the members.
func (f *fleet) names() (names []string) {
	for _, h := range f.members {
		names = append(names, h.name)
	}
	return names
}

// silences is how often a store gave no answer in time to any member that ever was.
func (f *fleet) silences() (sum uint64) {
	for _, h := range f.ever {
		sum += h.report().Silences
	}
	return sum
}

// slowest is how long it took at most from the grant of a token until the partner had been called.
func (f *fleet) slowest() (d time.Duration) {
	for _, h := range f.ever {
		d = max(d, h.report().Slowest)
	}
	return d
}

// heard is how often each member has reported.
func (f *fleet) heard() map[*handle]uint64 {
	reports := map[*handle]uint64{}
	for _, h := range f.members {
		reports[h] = h.reports()
	}
	return reports
}

// answers are how often the store has answered each member.
func (f *fleet) answers() map[*handle]uint64 {
	answers := map[*handle]uint64{}
	for _, h := range f.members {
		answers[h] = h.report().Answers
	}
	return answers
}
