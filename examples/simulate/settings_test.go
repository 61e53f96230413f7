package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/simulate/overload"
	"github.com/spillway-go/spillway/throttle"
)

func describe(s settings) string {
	var scenarios, policies []string
	for _, scenario := range s.scenarios {
		scenarios = append(scenarios, scenario.Name)
	}
	for _, policy := range s.policies {
		policies = append(policies, policy.Name)
	}
	return strings.TrimSpace(fmt.Sprint(scenarios, " ", policies, " ", s.seeds, " ", s.format, " ", s.plot))
}

func TestParse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.svg")
	all := "-scenario over2,aware -policy none,gobreaker -seeds 2-3 -format csv -clients 7 -capacity 50 -rejection-cost 0 -certain " +
		"-ratio 1.5 -minimum-rate 2 -window 20s -target 0.2 -background 0.1 -plot " + path
	for _, tt := range []struct {
		args, want string
		options    overload.Options
	}{
		{"", "[over5] [sre tiered] [1] table", overload.Options{}},
		{"-scenario over5,over5,overload,isolation", "[over5 over2 over10 over50 isolation-warm isolation-cold isolation-late] [sre tiered] [1] table", overload.Options{}},
		{"-retry none,budget -policy sre", "[over5] [sre+none sre+budget] [1] table", overload.Options{}},
		{all, "[over2 over2-aware over5-aware over10-aware] [none gobreaker] [2 3] csv " + path, overload.Options{
			Clients: 7, Capacity: 50, RejectionCost: -1, Certain: true, Settings: overload.Settings{
				Ratio: 1.5, MinimumRate: 2, TargetRejection: 0.2, Background: 0.1, Window: 20 * time.Second,
			},
		}},
	} {
		s, err := parse(strings.Fields(tt.args))
		if got := describe(s); got != tt.want || err != nil || !reflect.DeepEqual(s.options, tt.options) || s.realClock() != (tt.args == all) {
			t.Errorf("%s: got %s, %+v, error %v want %s, %+v", tt.args, got, s.options, err, tt.want, tt.options)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the plot's file, want none before the run", err)
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
		{[]string{"-clients", "-1"}, []string{"-clients", "0 to 100000"}},
		{[]string{"-capacity", "NaN"}, []string{"-capacity", "1 to 1e6, or 0"}},
		{[]string{"-policy", "none", "-minimum-rate", "-1"}, []string{"-minimum-rate", "more than 0, at most 1e9"}},
		{[]string{"-policy", "none", "-target", "0.6"}, []string{"-target", "0.01 to 0.5"}},
		{[]string{"-background", "NaN"}, []string{"-background", "at most 0.5"}},
		{[]string{"-slow", "-5s"}, []string{"-slow", "1ms to 1h"}},
		{[]string{"-rejection-cost", "1.1"}, []string{"-rejection-cost", "0 to 1"}},
		{[]string{"-ratio", "1"}, []string{"-ratio", "more than 1, at most 1e6"}},
		{[]string{"-window", "10"}, []string{"-window", "1s to 1h"}},
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
	equals(t, changes(o), want, "changes")
	equals(t, changes(overload.Options{}), "", "no changes")
}

// TestUsageListsFlags compares the usage with the flags that there are.
func TestUsageListsFlags(t *testing.T) {
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v for -h, want %v", err, flag.ErrHelp)
	}
	var s settings
	var want, got []string
	newFlags(&s).VisitAll(func(f *flag.Flag) { want = append(want, f.Name) })
	for _, listed := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(usage, -1) {
		got = append(got, listed[1])
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q in the usage, want %q", got, want)
	}
}

// TestReadme parses the command lines of the usage and of the README, in a folder where they may draw.
func TestReadme(t *testing.T) {
	text := throttle.Must(os.ReadFile("README.md"))
	t.Chdir(t.TempDir())
	commands := regexp.MustCompile("(?m)go run ./examples/simulate( -[^`#>\n]*)").FindAllStringSubmatch(usage+string(text), -1)
	if len(commands) < 12 {
		t.Errorf("found %d commands, want them all", len(commands))
	}
	for _, c := range commands {
		if _, err := parse(strings.Fields(c[1])); err != nil && !errors.Is(err, flag.ErrHelp) {
			t.Errorf("the command%s: %v", c[1], err)
		}
	}
	for _, name := range regexp.MustCompile("`-([a-z-]+)`").FindAllStringSubmatch(string(text), -1) {
		if name[1] != "aware" && !strings.Contains(usage, "-"+name[1]+" ") {
			t.Errorf("there is no flag -%s", name[1])
		}
	}
}
