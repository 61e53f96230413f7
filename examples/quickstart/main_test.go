package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestRunTellsTheStory(t *testing.T) {
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
		"All is well:\n  medium: we recommend [apples pears]\n",
		"  medium: shed: the backend is overloaded, and the call was not sent\n",
		"  low:    not sent: true, because: ",
		"  low:    we recommend [our best sellers]\n",
	} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("output: got\n%s\nwant in it %q", first.String(), want)
		}
	}
}

// TestHighFaresBetterThanLow reads the numbers that are printed.
func TestHighFaresBetterThanLow(t *testing.T) {
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
		if sum := f.accepted + f.rejected + f.shed; sum != each && (word != "medium" || sum != each+1) { // the call while all was well
			t.Errorf("%s: got %d calls want %d", word, sum, each)
		}
	}
	if len(got) != 4 || got["high"].accepted <= 2*got["low"].accepted || got["low"].shed <= 2*got["high"].shed {
		t.Errorf("figures: got %+v want all four, with far more accepted of high than of low, and the other way round for shed", got)
	}
}
