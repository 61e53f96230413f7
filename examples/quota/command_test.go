package main

import (
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

// short is a story that is told sooner than flags allow.
func short(t *testing.T, flags string) settings {
	t.Helper()
	s := settingsOf(t, "-quota 24 "+flags)
	s.duration = 1500 * time.Millisecond
	return s
}

// quiet waits until nothing of ours goes on: no process, connection or limiter.
func quiet(t *testing.T) {
	t.Helper()
	programtest.Quiet(t, "quota", "bucket", "database/sql", "net/http", "os/exec", "otel")
}

// TestWholeStory plays it to the end, by each policy, and with a process that is alone. Whether everything came in time is not asked: that is up
// to the machine.
func TestWholeStory(t *testing.T) {
	killed := []string{`p[34] is killed, which has made \d+ calls`, `p[57] takes its place`, `\n +one is dead +\d`, `used in the second after a death +at`}
	t.Run("side by side", func(t *testing.T) {
		for flags, want := range map[string][]string{
			"-processes 3":                append(killed, `calls without the store, by local_share +at most \d+ +\d+ +kept`),
			"-processes 2 -policy open":   append(killed, `calls without the store, by fail_open +more than \d+ +\d+ +`),
			"-processes 2 -policy closed": append(killed, `calls without the store, by fail_closed +at most 8 on their way +\d+ +kept`),
			"-processes 1":                {`there is only one: nobody could take up its part`},
		} {
			t.Run(flags, func(t *testing.T) {
				t.Parallel()
				playsTheWholeStory(t, flags, want)
			})
		}
	})
	quiet(t)
}

func playsTheWholeStory(t *testing.T, flags string, more []string) {
	var out, complaints strings.Builder
	c := command{settings: short(t, flags), stdout: &out, stderr: &complaints, folder: t.TempDir()}
	if code := c.run(t.Context()); code != program.Done || complaints.Len() > 0 {
		t.Fatalf("run: got code %d, %q and\n%s\nwant 0", code, complaints.String(), out.String())
	}
	for _, want := range append([]string{
		`A partner allows 24 calls a second\. It is called by [1-3] process(es)? with 4 workers each`, `of which the partner refuses \d+ %`,
		`\n +each for itself +\d`, `\n +one bucket for all +\d`, `\n +the store is gone +\d`, `\n +the store is back +\d`,
		`of the quota used +at least 95 %`, `with one bucket +at most \d+ +\d`, `refused by the partner +0 +`,
		`all ask the store again once it is back +within 1\.1s`,
	}, more...) {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("output: got\n%s\nwant in it %s", out.String(), want)
		}
	}
	if left, err := os.ReadDir(c.folder); err != nil || len(left) > 0 {
		t.Errorf("temporary folder: got %v, error %v want it empty", left, err)
	}
}

// TestCtrlC ends the story in the middle, while somebody looks at the metrics.
func TestCtrlC(t *testing.T) {
	var complaints strings.Builder
	s := settingsOf(t, "-duration 10m -quota 24 -metrics 127.0.0.1:0")
	run := programtest.Start(t, func(ctx context.Context, stdout io.Writer) int {
		return command{settings: s, stdout: stdout, stderr: &complaints}.run(ctx)
	})
	started := run.Until("p3: metrics http://")
	urls := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindAllString(started, -1)
	if len(urls) != 3 {
		t.Errorf("addresses: got %v want three", urls)
	}
	client := &http.Client{Transport: &http.Transport{}}
	for _, url := range urls {
		if got, want := programtest.Get(t, client, url), `throttle_bucket_requests_total{`; !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant in it %s", url, got, want)
		}
		page := strings.Replace(url, "/metrics", "/debug/throttle?format=json", 1)
		if got, want := programtest.Get(t, client, page), `"name":"partner"`; !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant in it %s", page, got, want)
		}
	}
	text, code := run.Interrupt()
	if code != program.Done || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", code, complaints.String())
	}
	if !strings.Contains(text, "interrupted") {
		t.Errorf("output: got\n%s\nwant that it was interrupted", text)
	}
	client.CloseIdleConnections()
	quiet(t)
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, complaints strings.Builder
	c := command{settings: short(t, ""), stdout: &out, stderr: &complaints}
	if code := c.run(ctx); code != program.Done || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", code, complaints.String())
	}
	quiet(t)
}

func TestWhatCannotRun(t *testing.T) {
	address := programtest.TakenAddress(t)
	for flags, want := range map[string]string{
		"-processes 1 -metrics " + address: "process p1: cannot listen on " + address,
		"-redis 127.0.0.1:1":               "cannot use the Redis of -redis 127.0.0.1:1",
	} {
		var out, complaints strings.Builder
		c := command{settings: short(t, flags), stdout: &out, stderr: &complaints}
		if code := c.run(t.Context()); code != program.Failed || !strings.Contains(complaints.String(), want) {
			t.Errorf("%s: got code %d and %q want 1 and a word about %q", flags, code, complaints.String(), want)
		}
	}
	quiet(t)
}
