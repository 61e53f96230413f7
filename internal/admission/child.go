package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The environment of a child: what it is, and its settings in JSON.
const (
	roleVariable = "SPILLWAY_ADMISSION_ROLE"
	specVariable = "SPILLWAY_ADMISSION_SPEC"
)

// childLife is the longest life of a child, if it is not ended before.
const childLife = 10 * time.Minute

// child is a process that runs this program in another role. It ends when its stdin does, so it does
// not outlive its parent.
type child struct {
	command *exec.Cmd
	stdin   io.Closer
	address string       // the first line that it printed
	log     bytes.Buffer // its stderr
}

// startChild runs this program in a role, on a list of processors, and waits for its first line.
func startChild(role, processors string, spec any, environment ...string) (*child, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.Command("taskset", "-c", processors, self)}
	c.command.Env = append(os.Environ(), roleVariable+"="+role, specVariable+"="+string(text))
	c.command.Env = append(c.command.Env, environment...)
	c.command.Stderr = &c.log
	if c.stdin, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s: no first line: %w\n%s", role, err, c.log.String())
	}
	c.address = strings.TrimSpace(line)
	return c, nil
}

// stop ends the child and waits for its end. It returns what the child wrote to stderr.
func (c *child) stop() string {
	c.stdin.Close()
	_ = c.command.Process.Kill() // a busy process needs long to notice the end of its stdin
	_ = c.command.Wait()         // the error is that it was killed
	return c.log.String()
}

// runChild runs the role of a child until its stdin ends.
func runChild(role string) error {
	time.AfterFunc(childLife, func() { os.Exit(1) })
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	switch role {
	case roleServer:
		var spec serverSpec
		if err := json.Unmarshal([]byte(os.Getenv(specVariable)), &spec); err != nil {
			return err
		}
		return serve(spec)
	case roleNeighbour:
		fmt.Println("busy")
		new(burner).burnForever()
	}
	return fmt.Errorf("no role %q", role)
}

// pin moves this process to a list of processors.
func pin(processors string) error {
	out, err := exec.Command("taskset", "-a", "-cp", processors, fmt.Sprint(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset: %w: %s", err, out)
	}
	return nil
}
