package main

import (
	"errors"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/simulate/overload"
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

// TestUsageExamples parses the command lines that the usage shows, in a folder where they may draw.
func TestUsageExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	examples := regexp.MustCompile(`(?m)^  go run ./examples/simulate(.*)$`).FindAllStringSubmatch(usage, -1)
	if len(examples) < 3 {
		t.Fatalf("got %d examples, want 3 at least", len(examples))
	}
	for _, example := range examples {
		line, _, _ := strings.Cut(example[1], ">")
		if _, err := parse(strings.Fields(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestListHasAll(t *testing.T) {
	var lines []string
	for _, s := range overload.Scenarios() {
		lines = append(lines, s.Name+" +"+s.Family+" +"+regexp.QuoteMeta(s.Title))
	}
	for _, p := range overload.Policies() {
		lines = append(lines, p.Name+" +"+regexp.QuoteMeta(p.Title))
	}
	for _, r := range overload.RetryRules() {
		lines = append(lines, r.Name+" +"+regexp.QuoteMeta(r.Title))
	}
	var out strings.Builder
	if err := list(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out.String()) {
			t.Errorf("got no line like %s", line)
		}
	}
}

func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?m)go run ./examples/simulate([^`#\n]*)").FindAllStringSubmatch(string(text), -1)
	if len(commands) < 8 {
		t.Errorf("found %d commands, want them all", len(commands))
	}
	dir := t.TempDir()
	for _, c := range commands {
		arguments := strings.Replace(c[1], "-plot ", "-plot "+dir+"/", 1)
		if strings.HasSuffix(strings.TrimSpace(arguments), "-h") {
			continue
		}
		if _, err := parse(strings.Fields(arguments)); err != nil {
			t.Errorf("the command%s: %v", c[1], err)
		}
	}
	for _, name := range regexp.MustCompile("`-([a-z-]+)`").FindAllStringSubmatch(string(text), -1) {
		if name[1] != "aware" && !strings.Contains(usage, "-"+name[1]+" ") {
			t.Errorf("there is no flag -%s", name[1])
		}
	}
}
