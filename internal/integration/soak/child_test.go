package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// child is a running example.
type child struct {
	name    string
	flags   []string
	symptom symptom

	url   string
	log   string // the file with all output
	cmd   *exec.Cmd
	ended chan struct{} // closed at the end, when err is set
	err   error

	mu       sync.Mutex
	last     scrape
	scrapes  int
	samples  []sample
	problems []string
}

// build builds the examples in the workspace.
func build(ctx context.Context, race bool, folder string, children []*child) error {
	c := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%v", race), "-o", folder+string(filepath.Separator),
		"-gcflags=modernc.org/...=-race=false") // SQLite would be ten times slower
	for _, child := range children {
		c.Args = append(c.Args, "github.com/spillway-go/spillway/examples/"+child.name)
	}
	c.Env = append(os.Environ(), "GOWORK=", "CGO_ENABLED=1")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

var address = regexp.MustCompile(`http://[0-9.]+:[0-9]+\b`)

// start starts the example, and returns when it has printed its address.
func (c *child) start(ctx context.Context, folder string) error {
	c.log, c.ended = filepath.Join(folder, c.name+".log"), make(chan struct{})
	log, err := os.Create(c.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(folder, c.name), c.flags...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, folder
	cmd.Env = append(os.Environ(), "TMPDIR="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for soak alone
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd = cmd
	go func() {
		defer close(c.ended)
		c.err = cmd.Wait()
	}()
	for begun := time.Now(); time.Since(begun) < timeout && !c.hasEnded() && sleep(ctx, 20*time.Millisecond); {
		if c.url = address.FindString(c.output()); c.url != "" {
			return nil
		}
	}
	return fmt.Errorf("%s printed no address:\n%s", c.name, c.output())
}

func (c *child) output() string {
	text, _ := os.ReadFile(c.log)
	return string(text)
}

// hasEnded reports whether the example has ended.
func (c *child) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// end interrupts the example and waits until it has ended.
func (c *child) end() {
	early := c.hasEnded()
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	late := time.AfterFunc(timeout, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	<-c.ended
	if output := c.output(); early || c.err != nil {
		last := output[max(0, len(output)-4000):]
		c.problem(errors.Join(fmt.Errorf("it ended before SIGINT: %v; its last output:\n%s", early, last), c.err))
	}
}

// kill kills the example if it runs.
func (c *child) kill() {
	if c.cmd != nil {
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// problem records a problem of the example. It keeps the first 20.
func (c *child) problem(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) < 20 {
		c.problems = append(c.problems, c.name+": "+err.Error())
	}
}

var crash = regexp.MustCompile(`(?m)^(WARNING: DATA RACE|panic:|fatal error:|.*http: panic serving)`)

// crashReport returns the first report of a data race or a panic in output, or "".
func crashReport(output string) string {
	at := crash.FindStringIndex(output)
	if at == nil {
		return ""
	}
	return output[at[0]:min(at[0]+4000, len(output))]
}
