package main

import (
	"errors"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/throttle"
)

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
