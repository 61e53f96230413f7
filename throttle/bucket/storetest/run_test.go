package storetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
)

const brokenProcess = "SPILLWAY_BUCKET_STORETEST_BROKEN"

// TestRunFails runs a broken store in a process of its own, where it may fail as a user's test does.
func TestRunFails(t *testing.T) {
	if os.Getenv(brokenProcess) != "" {
		open := names(strings.ToLower)(nil)
		Run(t, func(*testing.T) bucket.Store { return open() })
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestRunFails$/^(key|reset)$", "-test.v")
	cmd.Env = append(os.Environ(), brokenProcess+"=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("a store that does not tell upper case from lower: the test passed, want it to fail")
	}
	for _, want := range []string{
		"--- FAIL: TestRunFails/key/of_any_bytes_are_apart",
		"a bucket beside others whose keys are much like its own",
		"--- PASS: TestRunFails/key/long_ones_are_apart",
		"--- PASS: TestRunFails/reset/fills",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("output of a test of such a store: got no %q in\n%s", want, out)
		}
	}
}
