package program

import (
	"os"
	"os/exec"
	"testing"
)

// Find returns where a program is that is known by one of several names. Without it the test is skipped, or fails if nothing may be
// missing; the reason names the Debian package to install.
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
