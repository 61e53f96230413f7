package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// small is a world in which everything happens soon.
func small(t *testing.T, more string) settings {
	t.Helper()
	s := settingsOf(t, "-duration 5s -endpoints 100 -dead 6 -rate 150 "+more)
	s.round = 100 * time.Millisecond
	return s
}

// quiet waits until no goroutine of ours is left but the test's own: connections take a moment to notice.
func quiet(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var all strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
		count := 0
		for stack := range strings.SplitSeq(all.String(), "\n\n") {
			for _, word := range []string{"webhooks", "breaker", "database/sql", "net/http", "otel"} {
				if strings.Contains(stack, word) {
					count++
					break
				}
			}
		}
		if count <= 1 {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("goroutines are left:\n%s", all.String())
		}
	}
}

// TestWholeStory plays it to the end. Whether everything came in time is not asked: that is up to the machine.
func TestWholeStory(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	var out, complaints strings.Builder
	c := command{settings: small(t, ""), stdout: &out, stderr: &complaints, store: storeOfTests()}
	if code := c.run(t.Context()); code != exitDone || complaints.Len() > 0 {
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

// TestCtrlC ends the story in the middle, while somebody looks at the metrics.
func TestCtrlC(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, said := io.Pipe()
	var complaints strings.Builder
	c := command{settings: small(t, "-metrics 127.0.0.1:0"), stdout: said, stderr: &complaints, store: storeOfTests()}
	code := make(chan int, 1)
	go func() {
		code <- c.run(ctx)
		said.Close()
	}()
	lines := bufio.NewScanner(out)
	var text strings.Builder
	until := func(word string) {
		for lines.Scan() {
			text.WriteString(lines.Text() + "\n")
			if word != "" && strings.Contains(lines.Text(), word) {
				return
			}
		}
	}
	until("metrics http://")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(text.String())
	until("have opened")
	client := &http.Client{Transport: &http.Transport{}}
	for path, want := range map[string]string{
		"/metrics": `throttle_breaker_circuit{`, "/debug/throttle?format=json": `"kind":"breaker","name":"webhooks"`,
	} {
		if got := get(t, client, url+path); !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant in it %s", path, got, want)
		}
	}
	interrupt()
	until("")
	if got := <-code; got != exitDone || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", got, complaints.String())
	}
	for _, want := range []string{"interrupted", "Summary", "until all were open"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("output: got\n%s\nwant in it %q", text.String(), want)
		}
	}
	client.CloseIdleConnections()
	quiet(t)
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s: got error %v want nil", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: got error %v want nil", url, err)
	}
	return string(body)
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, complaints strings.Builder
	c := command{settings: small(t, ""), stdout: &out, stderr: &complaints}
	if code := c.run(ctx); code != exitDone || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", code, complaints.String())
	}
	quiet(t)
}

func TestWhatCannotRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	for flags, want := range map[string]string{
		"-metrics " + address: "cannot listen on " + address,
		"-redis 127.0.0.1:1":  "redis",
		"-postgres postgres://nobody@127.0.0.1:1/none?connect_timeout=5": "127.0.0.1",
	} {
		var out, complaints strings.Builder
		c := command{settings: small(t, flags), stdout: &out, stderr: &complaints}
		if code := c.run(t.Context()); code != exitFailed || !strings.Contains(complaints.String(), want) {
			t.Errorf("%s: got code %d and %q want 1 and a word about %q", flags, code, complaints.String(), want)
		}
	}
	quiet(t)
}

// full is a terminal that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestPrinterKeepsTheFirstError(t *testing.T) {
	p := printer{to: full{}}
	p.line("hello")
	first := p.err
	p.line("again")
	if first == nil || !errors.Is(p.err, first) {
		t.Errorf("printer: got error %v want the first one, %v", p.err, first)
	}
}
