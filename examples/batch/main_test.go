package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

func TestFlags(t *testing.T) {
	programtest.Refuses(t, command, map[string]string{
		"-duration 100ms": `for flag -duration: want 0 or a duration such as 30s, from 1s to 24h0m0s`,
		"-workers 8":      `invalid value "8" for flag -workers: want 16 to 512 workers`,
		"-metrics 9464":   `for flag -metrics: want host:port, such as 127.0.0.1:9464`,
		"-backoff=maybe":  `for -backoff`,
	})
	programtest.Explains(t, command, "-duration", "-workers", "-backoff", "-metrics")
}

// TestTheBackoffFindsTheRate runs the job for its default duration on virtual time. With the
// backoff the table is used and few calls are throttled, at each capacity. Without it most of the
// calls to a small table are throttled.
func TestTheBackoffFindsTheRate(t *testing.T) {
	written, throttled := play(t)
	for second := 1; second <= 20; second++ {
		if (second-1)%5 < 2 {
			continue // the backoff may still look for the rate
		}
		capacity := min(spending, int(capacities()[(second-1)/5]))
		if got := written[second]; got < capacity*9/10 {
			t.Errorf("second %d: got %d items want at least 90 %% of %d", second, got, capacity)
		}
		if calls := written[second] + throttled[second]; throttled[second]*20 > calls {
			t.Errorf("second %d: got %d of %d calls throttled want at most 5 %%", second, throttled[second], calls)
		}
	}
	written, throttled = play(t, "-backoff=false", "-duration", "4s")
	for second := 1; second <= 4; second++ {
		if throttled[second] <= written[second] {
			t.Errorf("second %d without a backoff: got %d of %d throttled want most", second, throttled[second], written[second])
		}
	}
}

// play runs the command in a bubble, and returns what its lines say of each second.
func play(t *testing.T, args ...string) (written, throttled map[int]int) {
	t.Helper()
	var stdout, stderr strings.Builder
	synctest.Test(t, func(t *testing.T) {
		if code := command(t.Context(), args, &stdout, &stderr); code != program.Done || stderr.Len() > 0 {
			t.Fatalf("run: got code %d and %q want 0", code, stderr.String())
		}
	})
	written, throttled = map[int]int{}, map[int]int{}
	line := regexp.MustCompile(`(?m)^ +(\d+) +\d+/s +(\d+) +(\d+) \( *[\d.]+ %\) +[\d.]+ ms$`)
	for _, found := range line.FindAllStringSubmatch(stdout.String(), -1) {
		second, _ := strconv.Atoi(found[1])
		written[second], _ = strconv.Atoi(found[2])
		throttled[second], _ = strconv.Atoi(found[3])
	}
	if !strings.Contains(stdout.String(), " items written, ") {
		t.Errorf("output: got\n%s\nwant a summary", stdout.String())
	}
	return written, throttled
}

func TestCtrlC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(2500*time.Millisecond, interrupt)
		var stdout, stderr strings.Builder
		code := command(ctx, []string{"-duration", "0"}, &stdout, &stderr)
		if code != program.Done || stderr.Len() > 0 || !strings.Contains(stdout.String(), "\n2s: ") {
			t.Errorf("run: got code %d, %q and\n%s\nwant 0 and a summary of 2s", code, stderr.String(), stdout.String())
		}
	})
}
