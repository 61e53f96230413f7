package main

import (
	"errors"
	"strings"
	"testing"
)

// full is a stream that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// begins reports whether a text begins so: with nothing if it is to be nothing.
func begins(text, with string) bool {
	return strings.HasPrefix(text, with) && (text == "") == (with == "")
}

// TestTheCommandTellsItsUsage instead of the story, and takes nothing that it does not know.
func TestTheCommandTellsItsUsage(t *testing.T) {
	for _, tt := range []struct {
		args     string
		code     int
		out, err string // begin so
	}{
		{"", 0, "All is well:\n", ""},
		{"-h", 0, "Quickstart runs ", ""},
		{"--help", 0, "Quickstart runs ", ""},
		{"-verbose", 2, "", "quickstart: flag provided but not defined: -verbose\n"},
		{"fast", 2, "", `quickstart: "fast" is not a flag`},
	} {
		var out, complaints strings.Builder
		code := command(t.Context(), strings.Fields(tt.args), &out, &complaints)
		if code != tt.code || !begins(out.String(), tt.out) || !begins(complaints.String(), tt.err) {
			t.Errorf("%q: got code %d,\n%s\nand %q want code %d, %q and %q", tt.args, code, out.String(), complaints.String(), tt.code, tt.out, tt.err)
		}
	}
	if code := command(t.Context(), []string{"-h"}, full{}, full{}); code != 1 {
		t.Errorf("-h that cannot be written: got code %d want 1", code)
	}
}
