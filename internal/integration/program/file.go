package program

import (
	"os"
	"path/filepath"
	"testing"
)

// File returns the path of a file or folder of the repository. The name is relative to its root.
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
			t.Fatalf("%s is not in a copy of the repository: want a go.work in it or above", here)
		}
	}
}
