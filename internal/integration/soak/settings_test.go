package main

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	if got, err := parse(nil); err != nil || got != defaults() {
		t.Errorf("no flags: got %+v, error %v want %+v", got, err, defaults())
	}
	got, err := parse(strings.Fields("-duration 2m -format markdown -race=false"))
	want := defaults()
	want.duration, want.format, want.race = 2*time.Minute, asMarkdown, false
	if err != nil || got != want {
		t.Errorf("all flags: got %+v, error %v want %+v", got, err, want)
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: got error %v want flag.ErrHelp", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-duration 9s":   "want a duration such as 10m, from 10s to 168h0m0s",
		"-duration 169h": "flag -duration: want",
		"-duration 10":   "flag -duration: want",
		"-format html":   "want text or markdown",
		"-every 5s":      "not defined: -every",
		"storefront":     `"storefront" is not a flag`,
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v want %s", args, err, want)
		}
	}
}

func TestStory(t *testing.T) {
	for _, tt := range []struct {
		soak, shortest time.Duration
		want           string
	}{
		{10 * time.Second, 5 * time.Second, "5s"},
		{2 * time.Minute, 5 * time.Second, "12s"},
		{2 * time.Minute, 20 * time.Second, "20s"},
		{10 * time.Minute, 5 * time.Second, "1m0s"},
		{time.Hour, 5 * time.Second, "1m0s"},
	} {
		s := settings{duration: tt.soak}
		if got := s.story(tt.shortest); got != tt.want {
			t.Errorf("soak of %v, shortest %v: got %s want %s", tt.soak, tt.shortest, got, tt.want)
		}
	}
}
