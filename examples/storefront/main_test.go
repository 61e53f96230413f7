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
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
	"github.com/spillway-go/spillway/throttle"
)

func nothing(string) string { return "" }

// TestFromOpenToClosed starts the program, opens its streams, and interrupts it.
func TestFromOpenToClosed(t *testing.T) {
	s := settingsOf(t, "-listen 127.0.0.1:0 -load 4 -open")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, said := io.Pipe()
	opened := make(chan string, 1)
	var complaints strings.Builder
	c := command{settings: s, stdout: said, stderr: &complaints, getenv: nothing, browse: func(url string) error {
		opened <- url
		return errors.New("no screen")
	}}
	code := make(chan int, 1)
	go func() {
		code <- c.run(ctx)
		said.Close()
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(lines.Text())
	go func() {
		for lines.Scan() { // so that no write blocks
		}
	}()
	if got := <-opened; got != url || url == "" {
		t.Fatalf("opened: got %q want %q", got, url)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	streams := []*bufio.Reader{follow(t, client, url+"stream"), follow(t, client, url+"debug/throttle?format=stream")}
	for _, stream := range streams {
		if _, err := stream.ReadString('\n'); err != nil {
			t.Errorf("stream: got error %v want it to begin", err)
		}
	}
	interrupt()
	for _, stream := range streams {
		if _, err := io.Copy(io.Discard, stream); err != nil {
			t.Errorf("stream: got error %v want it ended in good order", err)
		}
	}
	if got := <-code; got != program.Done || !strings.Contains(complaints.String(), "-open: cannot open a browser: no screen") {
		t.Errorf("run: got code %d and %q want 0, and a word about -open", got, complaints.String())
	}
	client.CloseIdleConnections()
	programtest.Quiet(t, "storefront", "statusz", "net/http.(*conn)", "otel")
}

// follow opens a stream.
func follow(t *testing.T, client *http.Client, url string) *bufio.Reader {
	t.Helper()
	r := throttle.Must(http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil))
	response, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s: got error %v want nil", url, err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got status %d want 200", url, response.StatusCode)
	}
	return bufio.NewReader(response.Body)
}

// TestDurationEndsTheRun with exit code 0, also if no collector listens at the endpoint of the traces.
func TestDurationEndsTheRun(t *testing.T) {
	unused := throttle.Must(net.Listen("tcp", "127.0.0.1:0"))
	unused.Close()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, url := range []string{"", "http://" + unused.Addr().String()} {
		t.Setenv(endpoint, url)
		var out, complaints strings.Builder
		c := command{settings: settingsOf(t, "-listen 127.0.0.1:0 -duration 1s"), stdout: &out, stderr: &complaints, getenv: os.Getenv}
		if code := c.run(t.Context()); code != program.Done || url == "" && complaints.Len() > 0 || !regexp.MustCompile(`The last [1-9]\d* s: `).MatchString(out.String()) {
			t.Errorf("run: got code %d, %q and\n%s\nwant 0 and a summary", code, complaints.String(), out.String())
		}
	}
}

func settingsOf(t *testing.T, flags string) settings {
	t.Helper()
	s := throttle.Must(parse(strings.Fields(flags)))
	return s
}
