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

// errEarly is reported for every program that ended before the test did, also if it ended without an error.
var errEarly = errors.New("ended before it was interrupted")

// Process is a program that runs for a test.
type Process struct {
	name   string
	cmd    *exec.Cmd
	log    *output
	ended  chan struct{} // closed when it has ended and err is set
	err    error
	mayEnd bool // whether it may end before the test does

	interrupt syscall.Signal // that which ends it
}

// Freeze stops the program with all its threads. Its connections stay open without an answer.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	awaitStop(t, p.cmd.Process.Pid)
}

// Thaw continues a frozen program.
func (p *Process) Thaw(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGCONT)
}

// Kill ends the program with SIGKILL and returns when it has ended.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.mayEnd = true
	p.signal(t, syscall.SIGKILL)
	<-p.ended
}

func (p *Process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v: %v", p.name, s, err)
	}
}

// Start starts a program and stops it when the test ends. If the test failed, it logs the output.
func Start(t testing.TB, path string, flags ...string) *Process {
	t.Helper()
	p := &Process{name: filepath.Base(path), cmd: exec.Command(path, flags...), log: &output{}, ended: make(chan struct{}), interrupt: syscall.SIGINT}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("output of %s:\n%s", p.name, p.log)
		}
	})
	return p
}

// stop interrupts the program as Ctrl-C does, and kills it if it does not end within Timeout.
func (p *Process) stop() error {
	switch {
	case p.mayEnd:
		return nil
	case p.HasEnded():
		return fmt.Errorf("%s: %w", p.name, errors.Join(errEarly, p.err))
	}
	_ = p.cmd.Process.Signal(p.interrupt)     // an error means that it has just ended
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may be frozen
	late := time.NewTimer(Timeout)
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

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// HasEnded reports whether the program has ended.
func (p *Process) HasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Output returns what the program has written. Long output is cut at the front.
func (p *Process) Output() string { return p.log.String() }
