package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func settingsOf(t *testing.T, flags string) settings {
	t.Helper()
	s, err := parse(strings.Fields(flags))
	if err != nil {
		t.Fatalf("parse %s: got error %v want nil", flags, err)
	}
	return s
}

func TestParse(t *testing.T) {
	want := settings{duration: 20 * time.Second, workers: 64, capacity: 400, seed: 1}
	if got := settingsOf(t, ""); got != want {
		t.Errorf("no flags: got %+v want %+v", got, want)
	}
	path := filepath.Join(t.TempDir(), "delay.png")
	got := settingsOf(t, "-duration 10m -workers 512 -capacity 1000 -metrics [::1]:9464 -seed 0 -repeat -plot "+path)
	want = settings{duration: 10 * time.Minute, workers: 512, capacity: 1000, metrics: "[::1]:9464", plot: path, repeat: true}
	if got != want {
		t.Errorf("all flags: got %+v want %+v", got, want)
	}
	if got := settingsOf(t, "-capacity 50 -workers 1 -duration 2m"); got.workers != 1 {
		t.Errorf("one worker: got %+v", got)
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-duration 4s", `invalid value "4s" for flag -duration: want a duration such as 20s, from 5s to 10m0s`},
		{"-duration 11m", `for flag -duration: want`},
		{"-duration -30s", `for flag -duration: want`},
		{"-duration 30", `for flag -duration: want`},
		{"-workers 0", `invalid value "0" for flag -workers: want 1 to 512 workers`},
		{"-workers 513", `for flag -workers: want`},
		{"-workers many", `for flag -workers: want`},
		{"-capacity 49", `invalid value "49" for flag -capacity: want 50 to 1000 units a second`},
		{"-capacity 0", `for flag -capacity: want`},
		{"-capacity 1001", `for flag -capacity: want`},
		{"-capacity 1e2", `for flag -capacity: want`},
		{"-workers 1", `-workers 1 cannot write what a table of -capacity 400 bears once it has grown: want at least 8`},
		{"-capacity 50", `-duration 20s is too short to find the rates of a table of -capacity 50: want at least 1m36s`},
		{"-plot delay.gif", `for flag -plot: extension .gif: want .svg or .png`},
		{"-plot /no/such/delay.svg", `for flag -plot: there is no folder /no/such`},
		{"-metrics 9464", `invalid value "9464" for flag -metrics: want host:port, such as 127.0.0.1:9464`},
		{"-metrics localhost:http", `for flag -metrics: want a port from 0 to 65535`},
		{"-seed -1", `invalid value "-1" for flag -seed: want a whole number from 0 to 2^64-1`},
		{"-verbose", `flag provided but not defined: -verbose`},
		{"fast", `"fast" is not a flag`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if _, err := parse(strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse: got error %v want one with %q", err, tt.want)
			}
		})
	}
	if _, err := parse([]string{"-plot", ""}); err == nil || !strings.Contains(err.Error(), "for flag -plot: no extension") {
		t.Errorf("-plot without a path: got error %v", err)
	}
}

func TestUsageTellsEveryFlag(t *testing.T) {
	for _, word := range []string{"duration", "workers", "capacity", "plot", "metrics", "seed"} {
		if !strings.Contains(usage, "\n  -"+word+" ") {
			t.Errorf("usage: got nothing about -%s", word)
		}
	}
}

// TestExamplesParse: what the usage and the page tell to type makes sense.
func TestExamplesParse(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^ *go run \./examples/batch([^#\n]*)`).FindAllStringSubmatch(usage+string(page), -1)
	if len(commands) < 5 {
		t.Errorf("commands: got %d want all", len(commands))
	}
	t.Chdir(t.TempDir())
	for _, c := range commands {
		settingsOf(t, c[1])
	}
}

// TestEveryDurationFits: without -capacity there is one for each duration that is allowed, and what one is told to take is enough.
func TestEveryDurationFits(t *testing.T) {
	for d := shortestRun; d <= longestRun; d += time.Second {
		s := settingsOf(t, "-duration "+d.String())
		if s.capacity < usualCapacity || s.capacity > highestCapacity {
			t.Errorf("%v: got capacity %d want %d to %d", d, s.capacity, usualCapacity, highestCapacity)
		}
	}
	for capacity := lowestCapacity; capacity <= highestCapacity; capacity++ {
		s := settings{capacity: capacity}
		s.duration, s.workers = s.leastDuration(), s.leastWorkers()
		if err := s.check(); err != nil || s.duration > longestRun || s.workers > mostWorkers {
			t.Errorf("capacity %d: got %v, %d workers and error %v", capacity, s.duration, s.workers, err)
		}
	}
}

func TestPartsAreTheWhole(t *testing.T) {
	if got := partOfNone + partOfSleeper + partOfSmall + partOfGrown + partOfHalved + partOfOnDemand; got != 100 {
		t.Errorf("parts of the story: got %d %% want 100", got)
	}
}
