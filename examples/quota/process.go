package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

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
