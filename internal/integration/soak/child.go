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

// child is an example that runs.
type child struct {
	name  string
	flags []string
	proof proof

	url   string
	log   string // the file with all output
	cmd   *exec.Cmd
	ended chan struct{} // closed at the end, when err is set
	err   error

	mu      sync.Mutex
	last    scrape
	scrapes int
	samples []sample
	faults  []string
}

// build builds the examples in the workspace.
func build(ctx context.Context, race bool, folder string, children []*child) error {
	c := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%v", race), "-o", folder+string(filepath.Separator),
		"-gcflags=modernc.org/...=-race=false") // SQLite would be ten times slower
	for _, of := range children {
		c.Args = append(c.Args, "github.com/spillway-go/spillway/examples/"+of.name)
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
	for begun := time.Now(); time.Since(begun) < patience && !c.over() && rest(ctx, 20*time.Millisecond); {
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

// over reports whether the example has ended.
func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// end interrupts the example and waits for its end.
func (c *child) end() {
	early := c.over()
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	late := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	<-c.ended
	if output := c.output(); early || c.err != nil {
		last := output[max(0, len(output)-4000):]
		c.fault(errors.Join(fmt.Errorf("it ended before SIGINT: %v; its last output:\n%s", early, last), c.err))
	}
}

// kill ends the example at once, if it runs.
func (c *child) kill() {
	if c.cmd != nil {
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// fault records what is wrong with the example. Of many faults it keeps the first.
func (c *child) fault(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) < 20 {
		c.faults = append(c.faults, c.name+": "+err.Error())
	}
}

var alarm = regexp.MustCompile(`(?m)^(WARNING: DATA RACE|panic:|fatal error:|.*http: panic serving)`)

// alarms returns the first report of a race or of a panic in some output.
func alarms(output string) string {
	at := alarm.FindStringIndex(output)
	if at == nil {
		return ""
	}
	return output[at[0]:min(at[0]+4000, len(output))]
}
