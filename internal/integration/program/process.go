package program

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// errEarly is there also if a program ended well, but too early.
var errEarly = errors.New("it ended before it was asked to")

// Process is a program that runs for a test.
type Process struct {
	name  string
	cmd   *exec.Cmd
	log   *journal
	ended chan struct{} // closed when it has ended, and err says how
	err   error
	given bool // up: it may have ended by itself
}

// Freeze stops the program as it stands, with all its threads: its connections stay open, and nobody answers on them.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	awaitStop(t, p.cmd.Process.Pid)
}

// Thaw lets a frozen program go on.
func (p *Process) Thaw(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGCONT)
}

// Kill ends the program at once, with no time to tidy up, and returns when it has ended.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.given = true
	p.signal(t, syscall.SIGKILL)
	<-p.ended
}

func (p *Process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v: %v", p.name, s, err)
	}
}

// Start starts a program, and ends it with the test, which tells what the program said if it has failed.
func Start(t testing.TB, path string, flags ...string) *Process {
	t.Helper()
	p := &Process{name: filepath.Base(path), cmd: exec.Command(path, flags...), log: newJournal(), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		if err := p.leave(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, p.log)
		}
	})
	return p
}

// leave asks the program to end, as Ctrl-C does, and kills it if it does not.
func (p *Process) leave() error {
	switch {
	case p.given:
		return nil
	case p.over():
		return fmt.Errorf("%s: %w", p.name, errors.Join(errEarly, p.err))
	}
	_ = p.cmd.Process.Signal(syscall.SIGINT)  // it may have ended this very moment
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may be frozen
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case <-p.ended:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	if p.err != nil {
		return fmt.Errorf("%s ended with %w", p.name, p.err)
	}
	return nil
}

// over reports whether the program has ended.
func (p *Process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Said returns what the program has written, or the end of it if that is long.
func (p *Process) Said() string { return p.log.String() }

// await returns what is found in what the program says, and "" if it ends, or nobody can wait any longer, without having said it.
func (p *Process) await(find func(said string) string) string {
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		said, more := p.log.read()
		if found := find(said); found != "" {
			return found
		}
		select {
		case <-more:
		case <-p.ended:
			return find(p.log.String())
		case <-late.C:
			return ""
		}
	}
}
