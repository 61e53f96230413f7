package program

import (
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
)

// Build builds an example outside the workspace, as users do, and returns the path of the binary. It is beside the binary of
// the test, so that all tests of a package share it, and go test deletes it.
func Build(t testing.TB, example string) (binary string) {
	t.Helper()
	for _, imported := range []string{"throttle", "otelthrottle", "dashboards"} {
		File(t, imported) // the test runs again if it has changed
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	defer locked(t, self+".lock")()
	binary = self + "." + example
	build := exec.Command("go", "build", "-o", binary, "./"+example) // which links only if the binary is old
	build.Dir = File(t, "examples")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// locked waits for a lock, and returns what ends it.
func locked(t testing.TB, file string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

// Example builds and starts an example, and returns the first URL that it prints.
func Example(t testing.TB, name string, flags ...string) (url string) {
	t.Helper()
	return Start(t, Build(t, name), flags...).AwaitURL(t)
}

// AwaitURL returns the first URL that the program prints.
func (p *Process) AwaitURL(t testing.TB) string {
	t.Helper()
	url := ""
	Eventually(t, p.name+" prints its address", func() string {
		ended := p.HasEnded() // before its last output is read
		if url = regexp.MustCompile(`http://[0-9.]+:[0-9]+\b`).FindString(p.Output()); url == "" {
			if ended {
				t.Fatalf("%s printed no address", p.name)
			}
			return "its output: " + p.Output()
		}
		return ""
	})
	return url
}
