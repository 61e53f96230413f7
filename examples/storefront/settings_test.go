package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/storefront/shop"
	"github.com/spillway-go/spillway/throttle"
)

func TestParse(t *testing.T) {
	s, err := parse(nil)
	if err != nil || s.listen != "127.0.0.1:8080" || s.open || s.duration != 0 || s.shop != shop.Calm() || s.scenario.name != "" {
		t.Errorf("no flags: got %+v, error %v want the defaults", s, err)
	}
	s, err = parse(strings.Fields("-listen [::1]:0 -open -duration 20s -load 10 -capacity 2000 -policy sre -scenario outage"))
	want := shop.Settings{Load: 10, Capacity: 2000, Throttled: true, Policy: throttle.SRE}
	if err != nil || s.listen != "[::1]:0" || !s.open || s.duration != 20*time.Second || s.shop != want || s.scenario.name != "outage" {
		t.Errorf("all flags: got %+v, error %v", s, err)
	}
	if s, err = parse([]string{"-scenario", "none", "-duration=0"}); err != nil || len(s.scenario.phases) > 0 || s.duration != 0 {
		t.Errorf("-scenario none: got %+v, error %v want nothing to happen", s, err)
	}
	s, err = parse(strings.Fields("-healthcheck -listen 0.0.0.0:8080"))
	if err != nil || !s.healthcheck || s.listen != "0.0.0.0:8080" {
		t.Errorf("-healthcheck: got %+v, error %v", s, err)
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-load 10.5", `invalid value "10.5" for flag -load: want 0 to 10 times the capacity`},
		{"-capacity 49", `invalid value "49" for flag -capacity: want 50 to 2000 calls per second`},
		{"-duration -5s", `invalid value "-5s" for flag -duration: want 0 or a duration such as 30s, from 1s to 168h0m0s`},
		{"-policy fair", `invalid value "fair" for flag -policy: throttle.Policy is "fair": want tiered or sre`},
		{"-scenario flood", `invalid value "flood" for flag -scenario: want overload, outage, brownout, slow, tour or none`},
		{"-healthcheck -scenario tour", `-healthcheck starts no storefront: leave out -scenario`},
		{"-healthcheck -duration 20s -listen :8080", `leave out -duration`},
		{"-healthcheck -listen :0", `-healthcheck needs the port of the storefront: -listen is :0`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if _, err := parse(strings.Fields(tt.args)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parse: got error %v want one with %q", err, tt.want)
			}
		})
	}
}

func TestUsageListsEveryFlagAndScenario(t *testing.T) {
	for _, word := range []string{"-listen", "-open", "-healthcheck", "-duration", "-load", "-capacity", "-policy", "-scenario", "none"} {
		if !strings.Contains(usage, word) {
			t.Errorf("usage: got nothing about %s", word)
		}
	}
	for _, sc := range scenarios() {
		if !strings.Contains(usage, "  "+sc.name+" ") {
			t.Errorf("usage: got nothing about the scenario %s", sc.name)
		}
	}
}
