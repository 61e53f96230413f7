package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Build builds one of the examples as users do, outside of the workspace, and returns where the binary is.
func Build(t testing.TB, example string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), example)
	build := exec.Command("go", "build", "-o", binary, "./"+example)
	build.Dir = File(t, "examples")
	build.Env = append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	return binary
}

// Example builds and starts one of the examples, and returns the address that it prints first.
func Example(t testing.TB, name string, flags ...string) (url string) {
	t.Helper()
	p := Start(t, Build(t, name), flags...)
	address := regexp.MustCompile(`http://[0-9.]+:[0-9]+\b`)
	url = p.await(address.FindString)
	if url == "" {
		t.Fatalf("%s has told no address", name)
	}
	return url
}
