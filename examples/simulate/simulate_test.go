package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

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
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 10 {
		t.Errorf("found %d links, want them all", len(links))
	}
	for _, link := range links {
		if _, err := os.Stat(link[1]); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	for _, name := range regexp.MustCompile("`-([a-z-]+)`").FindAllStringSubmatch(string(text), -1) {
		if name[1] != "aware" && !strings.Contains(usage(), "-"+name[1]+" ") {
			t.Errorf("there is no flag -%s", name[1])
		}
	}
}
