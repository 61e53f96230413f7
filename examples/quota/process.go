package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// report is what a process answers to its parent, as a line of JSON.
type report struct {
	Granted int64
	URL     string `json:",omitempty"` // of the metrics
}

// process is the parent's side of a member.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	reports *json.Decoder
}

// startProcess starts this program once more, as a member. It does not end with ctx, but with its
// standard input.
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

// ask says whether the network is cut, and returns what the process has done so far.
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

// wait returns what the process has done in all. It ends once its standard input is closed.
func (p *process) wait() (r report, err error) {
	err = p.reports.Decode(&r)
	if waitErr := p.cmd.Wait(); waitErr != nil {
		err = fmt.Errorf("process %d: %w", p.cmd.Process.Pid, waitErr) // which says more
	}
	return r, err
}
