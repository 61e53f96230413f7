package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// niceness is how much more important the load is than the servers, for the scheduler of the operating
// system. A busy server would delay the load otherwise, if the machine has few processors.
const niceness = "10"

type child struct {
	command *exec.Cmd
	stdin   io.Closer
	url     string
	ended   chan struct{} // is closed when the process has ended
}

// startBoth starts the servers. If one of them ends by itself, it calls stop.
func startBoth(s settings, stderr io.Writer, stop context.CancelCauseFunc) (protected, bare *child, err error) {
	rounds := calibrate(s.handler)
	if protected, err = startServer(true, rounds, stderr); err != nil {
		return nil, nil, err
	}
	if bare, err = startServer(false, rounds, stderr); err != nil {
		protected.stop()
		return nil, nil, err
	}
	for _, c := range []*child{protected, bare} {
		go func() {
			<-c.ended
			stop(errors.New("a server has ended"))
		}()
	}
	return protected, bare, nil
}

// startServer starts this program again, as a server, and waits for its address.
func startServer(protected bool, rounds int, stderr io.Writer) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{self, serverCommand, "-rounds", strconv.Itoa(rounds), "-protected=" + strconv.FormatBool(protected)}
	if path, err := exec.LookPath("nice"); err == nil { // Windows has none
		args = append([]string{path, "-n", niceness}, args...)
	}
	c := &child{command: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	c.command.Stderr = stderr
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a server: %w", err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		defer close(c.ended)
		_ = c.command.Wait() // the error is that it was killed
	}()
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("a server did not start: %w", err)
	}
	c.url = "http://" + strings.TrimSpace(address)
	return c, nil
}

func (c *child) stop() {
	_ = c.stdin.Close()          // the child ends, but a busy one needs long to notice
	_ = c.command.Process.Kill() // the error is that it has ended
	<-c.ended
}
