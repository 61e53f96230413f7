package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The examples.
const (
	storefront = "storefront"
	webhooks   = "webhooks"
	batch      = "batch"
)

// What is waited for, at most. The machine may be busy.
const (
	patienceAddress = 2 * time.Minute
	patienceEnd     = 2 * time.Minute
)

// What ends a child in a way that it should not.
var (
	errEarly     = errors.New("it ended before it was asked to")
	errStays     = errors.New("it did not end when it was asked to, and was killed")
	errNoAddress = errors.New("it has told no address")
)

// child is an example that runs.
type child struct {
	example string
	url     string
	cmd     *exec.Cmd
	out     *output
	ended   chan struct{} // closed when it has ended, and err says how
	err     error
}

// examples returns what to run, and with which flags. The stories of webhooks and batch end by themselves, and so are repeated. The rate
// of webhooks is low: a machine that cannot keep up takes slow endpoints for dead ones, and would have a queue that grows.
func examples(s settings) map[string][]string {
	return map[string][]string{
		storefront: {"-listen", "127.0.0.1:0"},
		webhooks: {
			"-metrics", "127.0.0.1:0", "-repeat", "-duration", s.story(5 * time.Second), "-endpoints", "400", "-dead", "5", "-rate", "200",
		},
		batch: {"-metrics", "127.0.0.1:0", "-repeat", "-duration", s.story(20 * time.Second)},
	}
}

// build builds the examples with the race detector. It does so in the workspace, where the tests have left most of it in the cache.
func build(ctx context.Context, race bool, to string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%v", race), "-o", to+string(filepath.Separator), "./"+storefront, "./"+webhooks, "./"+batch)
	c.Dir = filepath.Join(root, "examples")
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") }), "CGO_ENABLED=1")
	if said, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	return nil
}

// repository returns the root of the repository that this runs in.
func repository() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is in no copy of the repository", here)
		}
	}
}

// launch starts an example and returns it when it has told its address.
func launch(ctx context.Context, folder, example string, flags []string) (*child, error) {
	c := &child{example: example, cmd: exec.Command(filepath.Join(folder, example), flags...), out: &output{}, ended: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	c.cmd.Env = append(os.Environ(), "TMPDIR="+folder)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // or Ctrl-C would end it before we do
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		c.err = c.cmd.Wait()
	}()
	address := regexp.MustCompile(`http://[0-9.]+:[0-9]+\b`)
	late := time.NewTimer(patienceAddress)
	defer late.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if c.url = address.FindString(c.out.beginning()); c.url != "" {
			return c, nil
		}
		select {
		case <-again.C:
			continue
		case <-c.ended:
		case <-late.C:
		case <-ctx.Done():
		}
		return nil, fmt.Errorf("%s: %w:\n%s", example, errors.Join(errNoAddress, ctx.Err(), c.leave()), c.out.beginning())
	}
}

// freeze stops the child as it stands for a while: its connections stay open, and nobody answers on them.
func (c *child) freeze(ctx context.Context, d time.Duration) error {
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	rest(ctx, d)
	return c.cmd.Process.Signal(syscall.SIGCONT)
}

// over reports whether the child has ended.
func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// leave asks the child to end, as Ctrl-C does, and kills it if it does not. It returns what was wrong with the end.
func (c *child) leave() error {
	if c.over() {
		return errors.Join(errEarly, c.err)
	}
	_ = c.cmd.Process.Signal(syscall.SIGINT)  // it may have ended this very moment
	_ = c.cmd.Process.Signal(syscall.SIGCONT) // it may be frozen
	late := time.NewTimer(patienceEnd)
	defer late.Stop()
	select {
	case <-c.ended:
		return c.err
	case <-late.C:
		_ = c.cmd.Process.Kill()
		<-c.ended
		return errors.Join(errStays, c.err)
	}
}

// family is all children.
type family []*child

// leave ends all at once, and returns how that went for each.
func (f family) leave() []error {
	errs := make([]error, len(f))
	var all sync.WaitGroup
	for i, c := range f {
		all.Go(func() { errs[i] = c.leave() })
	}
	all.Wait()
	return errs
}

// rest lets some time go by, and reports whether nobody has ended it before.
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
