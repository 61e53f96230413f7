package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var first, again strings.Builder
	for _, out := range []*strings.Builder{&first, &again} {
		if err := run(t.Context(), out); err != nil {
			t.Fatalf("run: got error %v want nil", err)
		}
	}
	if first.String() != again.String() {
		t.Errorf("second run: got\n%s\nwant what the first one printed:\n%s", again.String(), first.String())
	}
	for _, want := range []string{
		"The backend is healthy:\n  medium: we recommend [apples pears]\n",
		"  medium: shed: the backend is overloaded, and the call was not sent\n",
		"  low:    shed: true, error: ",
		"  low:    we recommend [our best sellers]\n",
	} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("output: got\n%s\nwant in it %q", first.String(), want)
		}
	}
}

// TestHighIsShedLessThanLow reads the printed numbers.
func TestHighIsShedLessThanLow(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("run: got error %v want nil", err)
	}
	type figures struct{ accepted, rejected, shed int }
	got := map[string]figures{}
	for line := range strings.Lines(out.String()) {
		var word string
		var f figures
		if n, _ := fmt.Sscanf(line, " %s accepted %d rejected %d shed %d", &word, &f.accepted, &f.rejected, &f.shed); n == 4 {
			got[word] = f
		}
	}
	const each = overload * offered / 4
	for word, f := range got {
		if sum := f.accepted + f.rejected + f.shed; sum != each && (word != "medium" || sum != each+1) { // one more while the backend was healthy
			t.Errorf("%s: got %d calls want %d", word, sum, each)
		}
	}
	if len(got) != 4 || got["high"].accepted <= 2*got["low"].accepted || got["low"].shed <= 2*got["high"].shed {
		t.Errorf("figures: got %+v want all four, with far more accepted of high than of low, and the other way round for shed", got)
	}
}

// full is a writer without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// begins reports whether a text begins with a prefix. For an empty prefix it reports whether the text
// is empty.
func begins(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) && (text == "") == (prefix == "")
}

// TestCommand checks the usage, and that the command rejects unknown arguments.
func TestCommand(t *testing.T) {
	for _, tt := range []struct {
		args     string
		code     int
		out, err string // prefixes
	}{
		{"", 0, "The backend is healthy:\n", ""},
		{"-h", 0, "Quickstart runs ", ""},
		{"--help", 0, "Quickstart runs ", ""},
		{"-verbose", 2, "", "quickstart: flag provided but not defined: -verbose\n"},
		{"fast", 2, "", `quickstart: "fast" is not a flag`},
	} {
		var out, stderr strings.Builder
		code := command(t.Context(), strings.Fields(tt.args), &out, &stderr)
		if code != tt.code || !begins(out.String(), tt.out) || !begins(stderr.String(), tt.err) {
			t.Errorf("%q: got code %d,\n%s\nand %q want code %d, %q and %q", tt.args, code, out.String(), stderr.String(), tt.code, tt.out, tt.err)
		}
	}
	if code := command(t.Context(), []string{"-h"}, full{}, full{}); code != 1 {
		t.Errorf("-h that cannot be written: got code %d want 1", code)
	}
}
