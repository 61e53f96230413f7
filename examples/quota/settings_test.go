package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
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
	if got, want := settingsOf(t, ""), defaults(); got != want {
		t.Errorf("no flags: got %+v want %+v", got, want)
	}
	got := settingsOf(t, "-duration 10m -processes 16 -workers 64 -quota 500 -policy closed -redis [::1]:6379 -metrics :65520")
	want := settings{
		duration: 10 * time.Minute, processes: 16, workers: 64, quota: 500, policy: bucket.FailClosed, redis: "[::1]:6379", metrics: ":65520",
	}
	if got != want {
		t.Errorf("all flags: got %+v want %+v", got, want)
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-duration 4s", `invalid value "4s" for flag -duration: want a duration such as 15s, from 5s to 10m0s`},
		{"-duration 11m", `for flag -duration: want`},
		{"-duration -30s", `for flag -duration: want`},
		{"-duration 30", `for flag -duration: want`},
		{"-processes 0", `invalid value "0" for flag -processes: want 1 to 16 processes`},
		{"-processes 17", `for flag -processes: want`},
		{"-workers 0", `invalid value "0" for flag -workers: want 1 to 64 workers of each process`},
		{"-workers 65", `for flag -workers: want`},
		{"-quota 9", `invalid value "9" for flag -quota: want 10 to 500 calls per second`},
		{"-quota 501", `for flag -quota: want`},
		{"-quota 1e2", `for flag -quota: want`},
		{"-quota 63 -processes 16", `-quota 63 is too low for 16 -processes, whose share would be less than a call: want at least 64`},
		{"-quota 401", `-workers 4 cannot use up a -quota of 401, of which each process wants more than all: want at least 5`},
		{"-policy fail_open", `invalid value "fail_open" for flag -policy: want open, closed or share`},
		{"-redis localhost", `invalid value "localhost" for flag -redis: want host:port, such as 127.0.0.1:6379`},
		{"-redis localhost:redis", `for flag -redis: want a port from 0 to 65535`},
		{"-metrics 9464", `invalid value "9464" for flag -metrics: want host:port, such as 127.0.0.1:9464`},
		{"-metrics :65534", `-metrics :65534 leaves no port for each of 3 -processes: want one of at most 65533`},
		{"-verbose", `flag provided but not defined: -verbose`},
		{"fast", `"fast" is not a flag`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if _, err := parse(strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse: got error %v want one with %q", err, tt.want)
			}
		})
	}
}

func TestUsageTellsEveryFlag(t *testing.T) {
	for _, word := range []string{"duration", "processes", "workers", "quota", "policy", "redis", "metrics"} {
		if !strings.Contains(usage, "\n  -"+word+" ") {
			t.Errorf("usage: got nothing about -%s", word)
		}
	}
}

func TestMetricsOfEachProcess(t *testing.T) {
	for flags, want := range map[string]string{
		"": "", "-metrics [::1]:9464": "[::1]:9466", "-metrics 127.0.0.1:0": "127.0.0.1:0", "-metrics :65533": ":65535",
	} {
		s := settingsOf(t, flags)
		if got, err := s.metricsOf(2); got != want || err != nil {
			t.Errorf("%s: got %s, error %v want %s", flags, got, err, want)
		}
	}
}

// TestSharesTogetherAreNoMoreThanTheBucket, or the partner would refuse calls when processes are on their own: whatever the flags, what all
// have at once is at most what the shared bucket holds, and each has at least one.
func TestSharesTogetherAreNoMoreThanTheBucket(t *testing.T) {
	for processes := fewestProcesses; processes <= mostProcesses; processes++ {
		for quota := max(lowestQuota, processes*partsOfReserve); quota <= highestQuota; quota++ {
			s := settings{processes: processes, quota: quota, workers: mostWorkers, duration: shortestRun}
			if err := s.check(); err != nil {
				t.Fatalf("%+v: got error %v want nil", s, err)
			}
			if each := s.limit().Capacity / int64(processes); each < 1 || s.patienceOfPartner() < time.Second/2 {
				t.Fatalf("%+v: got %d calls for each, and %v patience", s, each, s.patienceOfPartner())
			}
		}
	}
}

func TestPartsLeaveTimeForTheRest(t *testing.T) {
	if got := partOfAlone + partOfShared + partOfDead + partOfGone + partOfBack; got > 92 {
		t.Errorf("parts of the story: got %d %% want at most 92", got)
	}
}
