package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program"
)

// commandVariable is set in the environment of a command that a test starts, with its flags.
const commandVariable = "SPILLWAY_QUOTA_TEST_COMMAND"

// TestMain lets the test binary be what the program is: a member, or the command.
func TestMain(m *testing.M) {
	if isMember() {
		os.Exit(beMember(os.Stdin, os.Stdout))
	}
	if flags := os.Getenv(commandVariable); flags != "" {
		s, err := parse(strings.Fields(flags))
		if err != nil {
			panic(err)
		}
		os.Exit(command{settings: s, stdout: os.Stdout, stderr: os.Stderr}.run(program.Interruptible()))
	}
	os.Exit(m.Run())
}

// TestMemberThatCannotWork says why, and ends.
func TestMemberThatCannotWork(t *testing.T) {
	for in, want := range map[string]string{
		``:                    "orders: EOF",
		`{"Name": 5}`:         "orders: json: cannot unmarshal number",
		`{"Name": "p1"}`:      "Limit.Capacity",
		`{"Metrics": "none"}`: "cannot listen on none",
	} {
		var out bytes.Buffer
		code := beMember(strings.NewReader(in), &out)
		var r report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != program.Failed || !strings.Contains(r.Failure, want) {
			t.Errorf("%s: got code %d and %s want 1 and a word about %q", in, code, out.String(), want)
		}
	}
}

// TestMembersEndWithTheirParent kills a command, so that it can tell nobody, and waits for all who write to the same standard error to end.
func TestMembersEndWithTheirParent(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), commandVariable+"=-duration 10m -quota 12", "TMPDIR="+t.TempDir())
	said, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	parent.Stderr = write
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close() // ours
	var text strings.Builder
	for buffer := make([]byte, 1024); !strings.Contains(text.String(), "bucket of its own"); {
		n, err := said.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			t.Fatalf("output: got error %v and\n%s", err, text.String())
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	var complaints bytes.Buffer
	if _, err := complaints.ReadFrom(read); err != nil { // to the end: when no member is left
		t.Fatal(err)
	}
	if complaints.Len() > 0 {
		t.Errorf("complaints: got %s want none", complaints.String())
	}
}

// TestMemberThatEndsIsNoticed kills a member behind the parent's back.
func TestMemberThatEndsIsNoticed(t *testing.T) {
	p, err := openPartner(10)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	s := newStory(settingsOf(t, "-quota 12 -processes 1"), &bytes.Buffer{}, os.Stderr, p, place{}, nil)
	if err := s.startAll(t.Context(), place{}); err != nil {
		t.Fatal(err)
	}
	if err := s.fleet.members[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.await(t.Context(), "nothing", func() bool { return false }); err == nil || !strings.Contains(err.Error(), "process p1 has ended") {
		t.Errorf("got error %v want that p1 has ended", err)
	}
	if err := s.fleet.stop(); err == nil || !strings.Contains(err.Error(), "process p1 has ended") {
		t.Errorf("stop: got error %v want that p1 has ended", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if program.Rest(ctx, patience) {
		t.Error("rest: got true of a context that has ended want false")
	}
}
