package release

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// proxy is a folder that the go command takes for a module proxy.
type proxy struct{ root string }

// serve adds a module as it is in a folder.
func (p proxy) serve(t *testing.T, folder, path, version string) {
	t.Helper()
	dir := filepath.Join(p.root, path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf(`{"Version": %q, "Time": "2026-11-21T00:00:00Z"}`, version),
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(file, module.Version{Path: path, Version: version}, folder); err != nil {
		t.Errorf("%s cannot be a module: %v", path, err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
