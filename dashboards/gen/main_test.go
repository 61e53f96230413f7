package main

import (
	"bytes"
	"io/fs"
	"os"
	"testing"
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
