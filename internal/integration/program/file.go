package program

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// links has links to the folders of the repository that tests read or build.
const links = "internal/integration/program/testdata"

// File returns the path of a file or folder of the repository. The name is relative to its root, and may be a pattern. The test
// runs again if the file, or one in the folder, has changed.
func File(t testing.TB, name string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			if name = filepath.FromSlash(name); name != "." {
				track(filepath.Join(dir, filepath.FromSlash(links), name))
			}
			return filepath.Join(dir, name)
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("%s is not in a copy of the repository: want a go.work in it or above", here)
		}
	}
}

// track opens a file, or a folder and those below it, by a path in this module. go test caches a result until what a test has
// opened changes, but it looks at paths in the module of the test only: hence the links.
func track(path string) {
	if strings.Contains(path, "*") {
		path = filepath.Dir(path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path += string(filepath.Separator) + "." // what the link leads to, and not the link
	}
	_ = filepath.WalkDir(path, func(path string, _ fs.DirEntry, _ error) error { // which opens folders
		_, _ = os.Stat(path) // of what is not there yet too
		return nil
	})
}
