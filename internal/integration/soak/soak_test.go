//go:build race

package main

import (
	"os"
	"testing"
	"time"
)

// TestSoak soaks for as long as it takes to see trouble of each kind, which is too short to say whether anything grows. It is there only
// where the race detector is: the children have it anyway, so once is enough, and what they are made of is in the cache there.
func TestSoak(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := settings{duration: shortestSoak, patience: 4 * time.Minute, format: asText, race: true, every: time.Second}
	f, err := soak(t.Context(), s, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("after %v:\n%s", f.took, f.table(s.format))
	for _, c := range f.complaints(judgeSound) {
		t.Error(c)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("temporary folder: got %v, error %v want it empty", left, err)
	}
}
