package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

// TestMain is the program of a member if a test has started it as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(settingsVariable); text != "" {
		os.Exit(member(text, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestFlags(t *testing.T) {
	programtest.Refuses(t, command, map[string]string{
		"-duration 100ms":    `for flag -duration: want 0 or a duration such as 30s, from 1s to 24h0m0s`,
		"-processes 17":      `invalid value "17" for flag -processes: want 1 to 16 processes`,
		"-quota 10":          `invalid value "10" for flag -quota: want 20 to 500 calls per second`,
		"-policy fail_open":  `invalid value "fail_open" for flag -policy: want open, closed or share`,
		"-redis localhost":   `for flag -redis: want host:port, such as 127.0.0.1:6379`,
		"-metrics localhost": `for flag -metrics: want host:port, such as 127.0.0.1:9464`,
	})
	programtest.Explains(t, command, "-duration", "-processes", "-quota", "-policy", "-redis", "-metrics")
}

func TestARedisThatIsNotThere(t *testing.T) {
	var stdout, stderr strings.Builder
	code := command(t.Context(), []string{"-redis", "127.0.0.1:1"}, &stdout, &stderr)
	if code != program.Failed || !strings.Contains(stderr.String(), "cannot use the Redis of -redis 127.0.0.1:1") {
		t.Errorf("got code %d and %q want 1 and an error that names -redis", code, stderr.String())
	}
}

// TestPolicies runs the command with each policy side by side. The store is gone for a second of
// three.
func TestPolicies(t *testing.T) {
	programtest.NeedsSQLite(t)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // or each process would end a second later
	var all sync.WaitGroup
	defer all.Wait()
	const onTheirWay = 2 * workers // calls that may have left the store when it is cut
	for policy, check := range map[string]func(answered, gone, bucket int) bool{
		"closed": func(answered, gone, bucket int) bool {
			return answered > 0 && gone <= onTheirWay && answered+gone <= bucket
		},
		// The shares grant as much as the bucket at most, however often a busy machine lets the
		// store answer late.
		"share": func(answered, gone, bucket int) bool { return answered > 0 && gone > 0 && answered+gone <= 2*bucket },
		// Until the processes have seen enough failures, each call waits for the store in vain. On a busy
		// machine that takes the whole second.
		"open": func(answered, gone, _ int) bool { return answered > 0 && gone > onTheirWay },
	} {
		all.Go(func() {
			start := time.Now()
			answered, gone := play(t, policy)
			took := time.Since(start).Seconds()
			if !check(answered, gone, 25+int(90*took)) {
				t.Errorf("-policy %s: got %d calls while the store answered, and %d while it was gone, in %.1f s",
					policy, answered, gone, took)
			}
		})
	}
}

// play runs the command and returns what its summary says. The quota of 100 makes a bucket of 25,
// which gets 90 a second.
func play(t *testing.T, policy string) (answered, gone int) {
	var stdout, stderr strings.Builder
	args := []string{"-duration", "3s", "-processes", "2", "-quota", "100", "-metrics", "127.0.0.1:0", "-policy", policy}
	code := command(t.Context(), args, &stdout, &stderr)
	summary := regexp.MustCompile(`(?s)metrics: http://.* answered: +(\d+) calls in 2s.* gone: +(\d+) calls in 1s`)
	found := summary.FindStringSubmatch(stdout.String())
	if code != program.Done || stderr.Len() > 0 || found == nil {
		t.Errorf("run: got code %d, %q and\n%s\nwant 0 and a summary", code, stderr.String(), stdout.String())
		return 0, 0
	}
	answered, _ = strconv.Atoi(found[1])
	gone, _ = strconv.Atoi(found[2])
	return answered, gone
}
