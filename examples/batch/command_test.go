package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/examples/internal/program"
	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

// TestWholeStory plays it to the end, in a bubble where no time passes, so that nothing of it is up to the machine: every promise is kept.
func TestWholeStory(t *testing.T) {
	for _, flags := range []string{"", "-duration 5s", "-workers 512 -duration 10s", "-capacity 50 -workers 1 -duration 96s", "-workers 8 -seed 2"} {
		t.Run(flags, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playsTheWholeStory(t, settingsOf(t, flags)) })
		})
	}
}

func playsTheWholeStory(t *testing.T, s settings) {
	var out, complaints strings.Builder
	c := command{settings: s, stdout: &out, stderr: &complaints, folder: t.TempDir()}
	begun := time.Now()
	if code := c.run(t.Context()); code != program.Done || complaints.Len() > 0 {
		t.Fatalf("run: got code %d, %q and\n%s\nwant 0", code, complaints.String(), out.String())
	}
	if took := time.Since(begun); took < s.duration*9/10 || took > s.duration*11/10 {
		t.Errorf("took: got %v want about %v", took, s.duration)
	}
	for _, want := range []string{
		`Without a backoff\n +\S+ s  \d+ items a second`, `With AutoSleeper\n`, `each made the delay longer: it is `,
		`its capacity is doubled to \d+`, `its capacity is halved to \d+`, `the table bears anything now`,
		`\n +without a backoff +\d`, `\n +AutoSleeper +\d`, `\n +as ordered +\d`, `\n +doubled +\d`, `\n +halved +\d`, `\n +on demand +\d`,
		`as ordered: of the capacity used +at least 90 % +(9\d|100)`, `doubled: of the calls throttled +at most 5 % +\d\.\d % +kept`,
		`on demand: of the capacity used +at least 90 % +(9\d|100)`, `spent in \S+ s +at most \d+ +\d+ +kept`, `\nplot: .*batch\.svg\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("output: got\n%s\nwant in it %s", out.String(), want)
		}
	}
	drawn, err := filepath.Glob(filepath.Join(c.folder, "batch-*", "batch.svg"))
	if err != nil || len(drawn) != 1 {
		t.Errorf("plots: got %v, error %v want one", drawn, err)
	}
}

// TestBrokenPromises: a table that nobody can use well does not grow, and the command says so with its exit code.
func TestBrokenPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settingsOf(t, "")
		s.workers = 1 // which parse would refuse
		var out, complaints strings.Builder
		c := command{settings: s, stdout: &out, stderr: &complaints, folder: t.TempDir()}
		if code := c.run(t.Context()); code != program.Failed || complaints.Len() > 0 {
			t.Errorf("run: got code %d, %q want 1", code, complaints.String())
		}
		for _, want := range []string{"the table has not grown", `the table grows +within 8s +not yet +BROKEN`, `capacity used .* BROKEN`} {
			if !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("output: got\n%s\nwant in it %s", out.String(), want)
			}
		}
	})
}

// TestRepeated plays the acts with a backoff over and over until it is interrupted. The table grows in every turn, and nothing is kept of calls.
func TestRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 46*time.Second)
		defer cancel()
		var out, complaints strings.Builder
		c := command{settings: settingsOf(t, "-repeat"), stdout: &out, stderr: &complaints, folder: t.TempDir()}
		if code := c.run(ctx); code != program.Done || complaints.Len() > 0 {
			t.Errorf("run: got code %d and %q want 0", code, complaints.String())
		}
		for part, want := range map[string]int{
			"\nOnce more\n": 2, "its capacity is doubled to": 3, "bears anything now": 2, "without a backoff  ": 1, "BROKEN": 0, "interrupted": 1, "plot: ": 0,
		} {
			if got := strings.Count(out.String(), part); got != want {
				t.Errorf("%q: got it %d times want %d in\n%s", part, got, want, out.String())
			}
		}
	})
}

// TestRepeatedInSpiteOfBrokenPromises goes on with a table that does not grow.
func TestRepeatedInSpiteOfBrokenPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := settingsOf(t, "-repeat")
		s.workers = 1 // which parse would refuse
		var out, complaints strings.Builder
		c := command{settings: s, stdout: &out, stderr: &complaints, folder: t.TempDir()}
		if code := c.run(ctx); code != program.Done || complaints.Len() > 0 {
			t.Errorf("run: got code %d and %q want 0", code, complaints.String())
		}
		for _, want := range []string{"the table has not grown", "BROKEN", "\nOnce more\n"} {
			if got := strings.Count(out.String(), want); got < 2 {
				t.Errorf("%q: got it %d times want it in every turn of\n%s", want, got, out.String())
			}
		}
	})
}

// TestInterrupted ends the story at different moments, by a deadline, which the bucket knows beforehand: there is a summary of what there was, and no plot
// of nothing.
func TestInterrupted(t *testing.T) {
	for after, want := range map[time.Duration]string{
		0: "interrupted", time.Second: "without a backoff +1.0", 2 * time.Second: "AutoSleeper +0.6",
		3500 * time.Millisecond: "as ordered, finding +0.1", 10 * time.Second: "doubled +[12]", 19 * time.Second: "on demand +[12]",
	} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				var out, complaints strings.Builder
				c := command{settings: settingsOf(t, ""), stdout: &out, stderr: &complaints, folder: t.TempDir()}
				if code := c.run(ctx); code != program.Done || complaints.Len() > 0 {
					t.Errorf("run: got code %d and %q want 0", code, complaints.String())
				}
				if !strings.Contains(out.String(), "interrupted") || !regexp.MustCompile(want).MatchString(out.String()) {
					t.Errorf("output: got\n%s\nwant that it was interrupted, and %s", out.String(), want)
				}
				if drawn := strings.Contains(out.String(), "plot: "); drawn != (after > 3400*time.Millisecond) {
					t.Errorf("plot: got %v of\n%s", drawn, out.String())
				}
			})
		})
	}
}

// TestCtrlC ends the story by the wall clock, while somebody looks at the metrics.
func TestCtrlC(t *testing.T) {
	var complaints strings.Builder
	s := settingsOf(t, "-duration 5s -metrics 127.0.0.1:0")
	s.capacity = 50 // the backoff needs seconds to find that: the story is interrupted before there is anything to judge
	run := programtest.Start(t, func(ctx context.Context, stdout io.Writer) int {
		return command{settings: s, stdout: stdout, stderr: &complaints, folder: t.TempDir()}.run(ctx)
	})
	started := run.Until("With one backoff")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(started)
	client := &http.Client{Transport: &http.Transport{}}
	for path, wants := range map[string][]string{
		"/metrics":                    {`throttle_backoff_delay_seconds{`, `throttle_bucket_requests_total{`},
		"/debug/throttle?format=json": {`"name":"orders-table"`, `"name":"account"`},
	} {
		for _, want := range wants {
			if got := programtest.Get(t, client, url+path); !strings.Contains(got, want) {
				t.Errorf("%s: got\n%s\nwant in it %s", path, got, want)
			}
		}
	}
	client.CloseIdleConnections()
	text, code := run.Interrupt()
	if code != program.Done || complaints.Len() > 0 {
		t.Errorf("run: got code %d and %q want 0", code, complaints.String())
	}
	if !strings.Contains(text, "interrupted") {
		t.Errorf("output: got\n%s\nwant that it was interrupted", text)
	}
}

func TestWhatCannotRun(t *testing.T) {
	address := programtest.TakenAddress(t)
	var out, complaints strings.Builder
	c := command{settings: settingsOf(t, "-metrics "+address), stdout: &out, stderr: &complaints}
	if code := c.run(t.Context()); code != program.Failed || !strings.Contains(complaints.String(), "cannot listen on "+address) {
		t.Errorf("a port that is taken: got code %d and %q want 1", code, complaints.String())
	}
}

func TestPlotThatCannotBeWritten(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s := settingsOf(t, "-plot "+filepath.Join(folder, "delay.svg"))
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var out, complaints strings.Builder
		c := command{settings: s, stdout: &out, stderr: &complaints}
		if code := c.run(t.Context()); code != program.Failed || !strings.Contains(complaints.String(), "delay.svg") {
			t.Errorf("run: got code %d and %q want 1", code, complaints.String())
		}
		if !strings.Contains(out.String(), "Summary") {
			t.Errorf("output: got\n%s\nwant the summary all the same", out.String())
		}
	})
}
