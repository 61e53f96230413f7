package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// actAs is the environment variable that makes this test binary run the command, or a part of it.
const actAs = "SIMULATE_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "command":
		main()
	case "interruptible":
		ctx := interruptible()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("stopping")
		select {} // as a run that does not listen
	default:
		os.Exit(m.Run())
	}
}

// itself returns the command as another process, which is this binary: so it has the race detector
// if the test has it.
func itself(t *testing.T, args string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, strings.Fields(args)...)
	cmd.Env = append(os.Environ(), actAs+"=command")
	return cmd
}

// ended runs a command to its end.
func ended(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		args           string
		code           int
		stdout, stderr string // how they begin
	}{
		{"-h", program.Done, "Simulate plays overloads", ""},
		{"-list", program.Done, "scenario ", ""},
		{"-ratio 1", program.Misused, "", "simulate: policy sre with these values of its flags: throttle: Config.Ratio is 1: want "},
		{"-list over5", program.Misused, "", `simulate: "over5" is not a flag`},
		{small + "-scenario outage", program.Done, "outage: ", ""},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			code, stdout, stderr := ended(t, itself(t, tt.args))
			if code != tt.code || !begins(stdout, tt.stdout) || !begins(stderr, tt.stderr) {
				t.Errorf("got %d,\n%s\nand\n%s\nwant %d, %q... and %q...", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// begins reports whether text begins with prefix, or is empty as it is.
func begins(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) && (prefix != "" || text == "")
}

// TestBubbles plays policies that read the real clock: in this binary, where the race detector sees
// several bubbles at once, and in a binary that is not a test. With -short the second one is not
// built.
func TestBubbles(t *testing.T) {
	const args = small + "-scenario outage,surge -policy tiered,gobreaker -seeds 4 -format csv"
	cmds := []*exec.Cmd{itself(t, args)}
	if !testing.Short() {
		binary := filepath.Join(t.TempDir(), "simulate")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmds = append(cmds, exec.CommandContext(t.Context(), binary, strings.Fields(args)...))
	}
	var first string
	for i, cmd := range cmds {
		code, stdout, stderr := ended(t, cmd)
		lines := strings.Split(stdout, "\r\n")
		if code != program.Done || stderr != "" || len(lines) != 6 || !strings.HasPrefix(lines[2], "outage,gobreaker,4,") {
			t.Errorf("got exit code %d, %q and\n%s\nwant %d, no words, and a line for gobreaker", code, stderr, stdout, program.Done)
		}
		if i == 0 {
			first = stdout
		} else if stdout != first {
			t.Errorf("got\n%s\nand\n%s", first, stdout)
		}
	}
}

// TestInterruptTwice ends a process that does not listen to its context any more.
func TestInterruptTwice(t *testing.T) {
	cmd := itself(t, "")
	cmd.Env = append(cmd.Env, actAs+"=interruptible")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	expectLine(t, out, "ready\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	expectLine(t, out, "stopping\n") // and nothing else: see interruptible
	over := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, out)
		over <- cmd.Wait()
	}()
	again := time.NewTicker(10 * time.Millisecond) // until it no longer takes the signal itself, which is soon
	defer again.Stop()
	for {
		select {
		case err := <-over:
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !status.Signaled() || status.Signal() != syscall.SIGINT {
				t.Errorf("got %v, want an end by the signal", err)
			}
			return
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
}

func expectLine(t *testing.T, out *bufio.Reader, want string) {
	t.Helper()
	if got, err := out.ReadString('\n'); err != nil || got != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}
