package main

import (
	"errors"
	"flag"
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
	if got, want := settingsOf(t, ""), defaults(); got != want {
		t.Errorf("no flags: got %+v want %+v", got, want)
	}
	got := settingsOf(t, "-duration 10m -endpoints 5000 -dead 20 -agents 16 -rate 3000 -redis [::1]:6379 -postgres postgres://me:secret@db/x "+
		"-metrics :0 -seed 18446744073709551615 -repeat")
	want := settings{
		duration: 10 * time.Minute, endpoints: 5000, dead: 20, agents: 16, rate: 3000, redis: "[::1]:6379",
		postgres: "postgres://me:secret@db/x", metrics: ":0", seed: 1<<64 - 1, repeat: true, round: shortestRound,
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
		{"-duration 4s", `invalid value "4s" for flag -duration: want a duration such as 30s, from 5s to 10m0s`},
		{"-duration 11m", `for flag -duration: want`},
		{"-duration 0", `for flag -duration: want`},
		{"-duration -30s", `for flag -duration: want`},
		{"-duration 30", `for flag -duration: want`},
		{"-endpoints 99", `invalid value "99" for flag -endpoints: want 100 to 5000 endpoints`},
		{"-endpoints 5001", `for flag -endpoints: want`},
		{"-endpoints 1e3", `for flag -endpoints: want`},
		{"-dead 0", `invalid value "0" for flag -dead: want 1 to 20 percent`},
		{"-dead 21", `for flag -dead: want`},
		{"-dead 5%", `for flag -dead: want`},
		{"-dead 1 -endpoints 499", `-dead 1 of -endpoints 499 are 4 endpoints: want at least 5`},
		{"-rate 50", `-rate 50 is too low to tell within -duration 30s that 100 endpoints are dead: want at least 200 for these, or a longer -duration`},
		{"-endpoints 5000 -dead 20 -rate 400", `-rate 400 is too low`},
		{"-agents 1", `invalid value "1" for flag -agents: want 2 to 16 agents`},
		{"-agents 17", `for flag -agents: want`},
		{"-rate 49", `invalid value "49" for flag -rate: want 50 to 3000 deliveries per second`},
		{"-rate 99999999999999999999", `for flag -rate: want`},
		{"-redis localhost", `invalid value "localhost" for flag -redis: want host:port, such as 127.0.0.1:6379`},
		{"-redis localhost:redis", `for flag -redis: want a port from 0 to 65535`},
		{"-metrics 9464", `invalid value "9464" for flag -metrics: want host:port, such as 127.0.0.1:9464`},
		{"-postgres postgres://%zz", `-postgres: want a data source name such as postgres://`},
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
}

// TestNoPasswordIsRepeated has data source names that cannot be read, with passwords in them.
func TestNoPasswordIsRepeated(t *testing.T) {
	for _, args := range [][]string{
		{"-postgres", "postgres://me:secret@127.0.0.1:port/x"},
		{"-postgres", "postgres://me:secret%zz@db/x"},
		{"-postgres=host=db password=secret port=none"},
		{"-postgres", "postgres://me:secret@db:port/x", "-postgres", "postgres://db/x"},
		{"-postgres", ""},
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), "-postgres: want") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got error %v want one about -postgres, without its password", args, err)
		}
	}
}

func TestUsageTellsEveryFlag(t *testing.T) {
	for _, word := range []string{"duration", "endpoints", "dead", "agents", "rate", "redis", "postgres", "metrics", "seed", "repeat"} {
		if !strings.Contains(usage, "\n  -"+word+" ") {
			t.Errorf("usage: got nothing about -%s", word)
		}
	}
}

// TestTempoKeepsWhatBreakersDemand: the shortest and the longest run have times that a breaker's Config accepts, and that fit together.
func TestTempoKeepsWhatBreakersDemand(t *testing.T) {
	for _, flags := range []string{"-duration 5s", "-duration 30s", "-duration 10m"} {
		s := settingsOf(t, flags)
		tempo := s.tempo()
		if tempo.SampleRate < shortestRound || tempo.Window < 2*tempo.SampleRate || tempo.Timeout > tempo.BreakerTimeout/2 ||
			tempo.Promise() <= 3*tempo.BreakerTimeout || tempo.Flush >= tempo.SampleRate {
			t.Errorf("%s: got %+v, which does not fit together", flags, tempo)
		}
		if got := s.workersPerAgent(); got < 4 {
			t.Errorf("%s: got %d workers per agent want at least 4", flags, got)
		}
	}
}
