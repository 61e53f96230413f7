package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/examples/internal/program/programtest"
)

// TestCommand reads what is printed: the answers, and figures of which High is shed less than Low.
func TestCommand(t *testing.T) {
	programtest.Refuses(t, command, map[string]string{})
	programtest.Explains(t, command)
	var out, problems strings.Builder
	if code := command(t.Context(), nil, &out, &problems); code != 0 || problems.Len() > 0 {
		t.Fatalf("got code %d and %q want 0 and no error", code, problems.String())
	}
	for _, want := range []string{
		"The backend is healthy:\n  medium: we recommend [apples pears]\n",
		"  medium: shed: the backend is overloaded, and the call was not sent\n",
		"  low:    shed: true, error: ",
		"  low:    we recommend [our best sellers]\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output: got\n%s\nwant in it %q", out.String(), want)
		}
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
