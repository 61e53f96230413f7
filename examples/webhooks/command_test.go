package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

// small is a world in which everything happens soon.
func small(t *testing.T, more string) settings {
	t.Helper()
	s := settingsOf(t, "-duration 5s -endpoints 100 -dead 6 -rate 150 "+more)
	s.round = 100 * time.Millisecond
	return s
}

// quiet waits until nothing of ours goes on: no agent, connection or breaker.
func quiet(t *testing.T) {
	t.Helper()
	programtest.Quiet(t, "webhooks", "breaker", "database/sql", "net/http", "otel")
}

// TestWholeStory plays it to the end. Whether everything came in time is not asked: that is up to the machine.
func TestWholeStory(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	var out, complaints strings.Builder
	c := command{settings: small(t, ""), stdout: &out, stderr: &complaints, store: storeOfTests()}
	if code := c.run(t.Context()); code != program.Done || complaints.Len() > 0 {
		t.Fatalf("run: got code %d, %q and\n%s\nwant 0", code, complaints.String(), out.String())
	}
	for _, want := range []string{
		`6 endpoints die: 3 time out, `, `\n +no breaker, some dead +\d+ +`, `\n +disabled  +\d+ +`,
		`circuits closed by probes +1 +1 +kept`, `dead endpoints disabled +within 3\.63s`,
		`attempts at disabled endpoints +0 +0 +kept`, `enabled by hand and called again +3 +3 +kept`,
		`another leads after the leader's death +within 200ms`, `still disabled under another leader +2 +2 +kept`,
		`of those that stayed dead +5 +5 +kept`, `disabled that were well +0 +0.* +kept`, `notified, each once +5 +5 +kept`,
		`Attempts saved: [1-9]\d*, `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("output: got\n%s\nwant in it %s", out.String(), want)
		}
	}
	quiet(t)
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("temporary folder: got %v, error %v want it empty", left, err)
	}
}

// TestRepeated ends the story when everything has happened twice with the same fleet: who was killed is replaced, and who was disabled is enabled.
func TestRepeated(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, said := io.Pipe()
	var complaints strings.Builder
	c := command{settings: small(t, "-repeat"), stdout: said, stderr: &complaints, store: storeOfTests()}
	code := make(chan int, 1)
	go func() {
		code <- c.run(ctx)
		said.Close()
	}()
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Count(text.String(), "\nOnce more\n") == 2 {
			interrupt()
		}
	}
	if got := <-code; got != program.Done || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", got, complaints.String())
	}
	for want, times := range map[string]int{
		`all are well again; 3 agents work`: 1, `the same 6 endpoints die`: 2, `no breaker, some dead +\d`: 2, `which leads, is killed`: 2,
		`still disabled under another leader +2 +2 +kept`: 2, `of those that stayed dead +5 +5 +kept`: 2, `notified, each once +5 +5 +kept`: 2,
	} {
		if got := len(regexp.MustCompile(want).FindAllString(text.String(), -1)); got < times {
			t.Errorf("%s: got it %d times want %d in\n%s", want, got, times, text.String())
		}
	}
	quiet(t)
}

// TestCtrlC ends the story in the middle, while somebody looks at the metrics.
func TestCtrlC(t *testing.T) {
	var complaints strings.Builder
	s := small(t, "-metrics 127.0.0.1:0")
	run := programtest.Start(t, func(ctx context.Context, stdout io.Writer) int {
		return command{settings: s, stdout: stdout, stderr: &complaints, store: storeOfTests()}.run(ctx)
	})
	started := run.Until("metrics http://")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(started)
	run.Until("have opened")
	client := &http.Client{Transport: &http.Transport{}}
	for path, want := range map[string]string{
		"/metrics": `throttle_breaker_circuit{`, "/debug/throttle?format=json": `"kind":"breaker","name":"webhooks"`,
	} {
		if got := programtest.Get(t, client, url+path); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant in it %s", path, got, want)
		}
	}
	text, code := run.Interrupt()
	if code != program.Done || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", code, complaints.String())
	}
	for _, want := range []string{"interrupted", "Summary", "until all were open"} {
		if !strings.Contains(text, want) {
			t.Errorf("output: got\n%s\nwant in it %q", text, want)
		}
	}
	client.CloseIdleConnections()
	quiet(t)
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, complaints strings.Builder
	c := command{settings: small(t, ""), stdout: &out, stderr: &complaints}
	if code := c.run(ctx); code != program.Done || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", code, complaints.String())
	}
	quiet(t)
}

func TestWhatCannotRun(t *testing.T) {
	address := programtest.TakenAddress(t)
	for flags, want := range map[string]string{
		"-metrics " + address: "cannot listen on " + address,
		"-redis 127.0.0.1:1":  "redis",
		"-postgres postgres://nobody@127.0.0.1:1/none?connect_timeout=5": "127.0.0.1",
	} {
		var out, complaints strings.Builder
		c := command{settings: small(t, flags), stdout: &out, stderr: &complaints}
		if code := c.run(t.Context()); code != program.Failed || !strings.Contains(complaints.String(), want) {
			t.Errorf("%s: got code %d and %q want 1 and a word about %q", flags, code, complaints.String(), want)
		}
	}
	quiet(t)
}
