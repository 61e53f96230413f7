package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Build builds an example outside the workspace, as users do, and returns the path of the binary.
func Build(t testing.TB, example string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), example)
	build := exec.Command("go", "build", "-o", binary, "./"+example)
	for _, imported := range []string{"throttle", "otelthrottle", "dashboards"} {
		File(t, imported) // the test runs again if it has changed
	}
	build.Dir = File(t, "examples")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// Example builds and starts an example, and returns the first URL that it prints.
func Example(t testing.TB, name string, flags ...string) (url string) {
	t.Helper()
	p := Start(t, Build(t, name), flags...)
	address := regexp.MustCompile(`http://[0-9.]+:[0-9]+\b`)
	url = p.awaitOutput(address.FindString)
	if url == "" {
		t.Fatalf("%s printed no address", name)
	}
	return url
}
