package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
	"github.com/spillway-go/spillway/throttle"
)

func TestFlags(t *testing.T) {
	programtest.Refuses(t, command, map[string]string{
		"-duration 100ms":                 `for flag -duration: want 0 or a duration such as 30s, from 1s to 24h0m0s`,
		"-endpoints 10":                   `invalid value "10" for flag -endpoints: want 20 to 400 endpoints`,
		"-redis localhost":                `for flag -redis: want host:port, such as 127.0.0.1:6379`,
		"-postgres postgres://me:pw@h:x/": `-postgres: want a data source name such as postgres://user@127.0.0.1:5432/database`,
		"-metrics 9464":                   `for flag -metrics: want host:port, such as 127.0.0.1:9464`,
	})
	programtest.Explains(t, command, "-duration", "-endpoints", "-dry-run", "-redis", "-postgres", "-metrics")
}

func TestPasswordsStaySecret(t *testing.T) {
	var stderr strings.Builder
	command(t.Context(), []string{"-postgres", "postgres://me:pw@h:x/"}, io.Discard, &stderr)
	if strings.Contains(stderr.String(), "me:pw") {
		t.Errorf("got the password in %q", stderr.String())
	}
}

// The environment of PostgreSQL is of no account without -postgres.
func TestOtherEnvironment(t *testing.T) {
	t.Setenv("PGPORT", "none")
	if _, err := parse(nil); err != nil {
		t.Errorf("got error %v want nil", err)
	}
}

func TestServersThatAreNotThere(t *testing.T) {
	programtest.NeedsSQLite(t)
	for flag, server := range map[string]string{"-redis": "127.0.0.1:1", "-postgres": "postgres://me@127.0.0.1:1/db"} {
		var stdout, stderr strings.Builder
		code := command(t.Context(), []string{flag, server}, &stdout, &stderr)
		if code != program.Failed || !strings.Contains(stderr.String(), "cannot use the ") || !strings.Contains(stderr.String(), flag) {
			t.Errorf("%s: got code %d and %q want 1 and an error that names the flag", flag, code, stderr.String())
		}
	}
}

// TestLine has the whole second, also of a long run.
func TestLine(t *testing.T) {
	for elapsed, want := range map[time.Duration]string{150 * time.Millisecond: "0.15", time.Second: "1", 100_001 * time.Second: "100001"} {
		var out strings.Builder
		(&dispatcher{out: &out, agents: []*agent{{}}}).line(elapsed)
		if got := strings.Fields(out.String())[0]; got != want {
			t.Errorf("%v: got %q want %q", elapsed, got, want)
		}
	}
}

// TestCircuitsOpenAndClose runs until circuits of dead endpoints have opened, and all are closed again.
func TestCircuitsOpenAndClose(t *testing.T) {
	programtest.NeedsSQLite(t)
	s := throttle.Must(parse(strings.Fields("-duration 0 -endpoints 20 -metrics 127.0.0.1:0")))
	s.rate, s.round = 800, 75*time.Millisecond
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, s, stdout)
		_ = stdout.Close()
	}()
	var text strings.Builder
	opened, fixed, again := false, false, false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		fixed = fixed || strings.Contains(lines.Text(), "fix and enable them")
		var second float64
		var delivered, failed, shed, waiting, open, halfOpen, disabled int
		_, err := fmt.Sscan(lines.Text(), &second, &delivered, &failed, &shed, &waiting, &open, &halfOpen, &disabled)
		switch {
		case err != nil: // another line
		case open > 0 && shed > 0:
			opened = true
		case opened && fixed && open+halfOpen+disabled == 0:
			again = true
			interrupt()
		}
	}
	if err := <-ended; err != nil || !again {
		t.Errorf("run: got error %v and\n%s\nwant circuits that open, and are closed at the end", err, text.String())
	}
	summary := `deliveries: N made, N failed after 75ms each, N shed\ncircuits: N opened, \d+ disabled, N closed`
	if !regexp.MustCompile(strings.ReplaceAll(summary, "N", `[1-9]\d*`)).MatchString(text.String()) {
		t.Errorf("output: got\n%s\nwant a summary with deliveries of each kind", text.String())
	}
}
