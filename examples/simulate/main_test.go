package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/throttle"
)

// actAs is the environment variable that makes this test binary run the command.
const actAs = "SIMULATE_TEST_ACT_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(actAs) != "" {
		main()
		return // after -list
	}
	os.Exit(m.Run())
}

// itself returns the command as another process, which is this binary: so it has the race detector
// if the test has it.
func itself(t *testing.T, args string) *exec.Cmd {
	t.Helper()
	binary := throttle.Must(os.Executable())
	cmd := exec.CommandContext(t.Context(), binary, strings.Fields(args)...)
	cmd.Env = append(os.Environ(), actAs+"=1")
	return cmd
}

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
		{"-ratio 1", program.Misused, "", "simulate: invalid value \"1\" for flag -ratio: want more than 1"},
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
