package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
)

func TestParseDefaults(t *testing.T) {
	s, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(s), "[over5] [sre tiered] [1] table"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func describe(s settings) string {
	var scenarios, policies []string
	for _, scenario := range s.scenarios {
		scenarios = append(scenarios, scenario.Name)
	}
	for _, policy := range s.policies {
		policies = append(policies, policy.Name)
	}
	return fmt.Sprint(scenarios, " ", policies, " ", s.seeds, " ", s.format)
}

func TestParse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.svg")
	s, err := parse(strings.Fields("-scenario over2,aware -policy none,gobreaker -seeds 2-3 -format csv -clients 7 -capacity 50 " +
		"-rejection-cost 0 -certain -ratio 1.5 -minimum-rate 2 -window 20s -target 0.2 -background 0.1 -plot " + path))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(s), "[over2 over2-aware over5-aware over10-aware] [none gobreaker] [2 3] csv"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.plot != path || s.list {
		t.Errorf("got plot %q, list %v", s.plot, s.list)
	}
	if got, want := s.options.Settings, (overload.Settings{Ratio: 1.5, MinimumRate: 2, TargetRejection: 0.2, Background: 0.1, Window: 20 * time.Second}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if o := s.options; o.Clients != 7 || o.Capacity != 50 || o.RejectionCost >= 0 || !o.Certain {
		t.Errorf("got %d clients, capacity %v and rejections for %v, certain %v, want 7, 50, less than 0 and true", o.Clients, o.Capacity, o.RejectionCost, o.Certain)
	}
	if !s.realClock() {
		t.Error("got no real clock with gobreaker, want one")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the plot's file, want none before the run", err)
	}
}

func TestParse_retry(t *testing.T) {
	s, err := parse(strings.Fields("-retry none,budget -policy sre"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(s), "[over5] [sre+none sre+budget] [1] table"; got != want || s.policies[1].Retry != "budget" {
		t.Errorf("got %s, rule %q want %s", got, s.policies[1].Retry, want)
	}
}

func TestParseRefuses(t *testing.T) {
	folder := t.TempDir()
	tests := []struct {
		args  []string
		wants []string // parts of the error
	}{
		{[]string{"-scenario", "over5,nope"}, []string{"-scenario", `"nope"`, "over10", "isolation"}},
		{[]string{"-policy", "nope"}, []string{"-policy", `"nope"`, "tiered", "gobreaker"}},
		{[]string{"-retry", "nope"}, []string{"-retry", `"nope"`, "naive", "budget"}},
		{[]string{"-seeds", "0"}, []string{"-seeds", "0", "want"}},
		{[]string{"-format", "xml"}, []string{"-format", `"xml"`, "table or csv"}},
		{[]string{"-plot", filepath.Join(folder, "a.gif")}, []string{"-plot", ".gif", "want .svg"}},
		{[]string{"-plot", filepath.Join(folder, "none", "a.svg")}, []string{"-plot", "no such file or directory"}},
		{[]string{"-scenario", "isolation", "-plot", filepath.Join(folder, "a.svg")}, []string{"-plot", "isolation-warm", "many cases"}},
		{[]string{"-clients", "-1"}, []string{"Clients is -1", "1 to 100000"}},
		{[]string{"-capacity", "0.5"}, []string{"Capacity is 0.5", "1 to 1e6"}},
		{[]string{"-rejection-cost", "1.1"}, []string{"-rejection-cost", "0 to 1"}},
		{[]string{"-ratio", "1"}, []string{"Ratio is 1", "more than 1, at most 1e6"}},
		{[]string{"-minimum-rate", "-1"}, []string{"MinimumRate is -1"}},
		{[]string{"-window", "10"}, []string{"-window", "parse error"}},
		{[]string{"-target", "0.6"}, []string{"TargetRejection is 0.6", "0.01 to 0.5"}},
		{[]string{"-background", "0.6"}, []string{"Background is 0.6", "at most 0.5"}},
		{[]string{"over5"}, []string{`"over5" is not a flag`}},
		{[]string{"-policy", "sre,", "tiered"}, []string{"-policy"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			_, err := parse(tt.args)
			for _, want := range tt.wants {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("got %v in the folder, want nothing", left)
	}
}

func TestChanges(t *testing.T) {
	o := overload.Options{Clients: 5, Capacity: 50, RejectionCost: -1, Certain: true, Reports: true, Settings: overload.Settings{
		Ratio: 1.5, MinimumRate: 2, Window: 90 * time.Second, TargetRejection: 0.2, Background: 0.1,
	}}
	want := "With 5 clients, a capacity of 50 calls/s, rejections that cost 0 of a served call, rejections that say that the backend is full, a backend that says its load, ratio 1.5, minimum rate 2/s, window 1m30s, target 0.2, background 0.1."
	if got := changes(o); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := changes(overload.Options{}); got != "" {
		t.Errorf("got %q for no changes, want nothing", got)
	}
}
