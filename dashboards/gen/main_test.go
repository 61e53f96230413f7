package main

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestNothingHasDrifted checks that the files in the folder are those that the program writes. They include runbooks.md, which it
// reads too: so writing twice gives the same.
func TestNothingHasDrifted(t *testing.T) {
	folder := os.DirFS("..")
	files, err := generate(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := fs.ReadFile(folder, name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator makes: run go generate ./dashboards (error %v)", name, err)
		}
	}
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if files[name] == nil {
			t.Errorf("%s: got a file that the generator does not make", name)
		}
	}
}

// Labels of another repository need a folder for it. Without it, nothing is written.
func TestRun_namesWithoutFolder(t *testing.T) {
	t.Chdir(t.TempDir()) // without the rules that write reads
	for _, args := range [][]string{{"-cluster", "region"}, {"-team=squad"}, {"-runbooks", "https://example.com"}, {"monitoring"}, {"-to", "x", "y"}, {"-to="}} {
		err := run(flag.NewFlagSet("gen", flag.ContinueOnError), args)
		if err == nil || !strings.Contains(err.Error(), "want -to and a folder") {
			t.Errorf("%q: got error %v want one about -to", args, err)
		}
	}
}

func TestRulesThatCannotBeCarried(t *testing.T) {
	for name, folder := range map[string]fstest.MapFS{
		"rules/recording.yml: no line that says groups:": {"rules/recording.yml": {Data: []byte("# nothing\n")}, "rules/alerts.yml": {Data: []byte("\ngroups:\n")}},
		"rules/alerts.yml": {"rules/recording.yml": {Data: []byte("#\ngroups:\n")}},
		"alertmanager/alertmanager.yml: no line that says inhibit_rules:": {
			"rules/recording.yml": {Data: []byte("\ngroups:\n")}, "rules/alerts.yml": {Data: []byte("\ngroups:\n")},
			"alertmanager/alertmanager.yml": {Data: []byte("# nothing\n")},
		},
	} {
		if _, err := generate(folder); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("generate: got error %v want one about %q", err, name)
		}
	}
}
