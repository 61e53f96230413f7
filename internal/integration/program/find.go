package program

import (
	"os"
	"os/exec"
	"testing"
)

// Find returns the path of a program that is installed under one of the names. If there is none, it
// skips the test, or fails it if SPILLWAY_REQUIRE_SERVICES is 1. The message names the Debian package
// to install.
func Find(t testing.TB, pkg string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	reason := "needs " + names[0]
	if pkg != names[0] {
		reason += " (package " + pkg + ")"
	}
	if os.Getenv("SPILLWAY_REQUIRE_SERVICES") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}
