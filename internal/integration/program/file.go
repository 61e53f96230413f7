package program

import (
	"os"
	"path/filepath"
	"testing"
)

// File returns where something of the repository is, by its name from the root.
func File(t testing.TB, name string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("%s is in no copy of the repository", here)
		}
	}
}
