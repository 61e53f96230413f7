package storetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

const brokenProcess = "SPILLWAY_STORETEST_BROKEN"

// TestRunFails runs a broken store in a process of its own, where it may fail as a user's test does.
func TestRunFails(t *testing.T) {
	if os.Getenv(brokenProcess) != "" {
		open := changedBatch(func(b *breaker.Batch) { b.Term = 0 })
		Run(t, func(*testing.T) func() breaker.Store { return open(nil) })
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestRunFails$/^(fence|load)$", "-test.v")
	cmd.Env = append(os.Environ(), brokenProcess+"=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("a store without a fence: the test passed, want it to fail")
	}
	for _, want := range []string{
		"--- FAIL: TestRunFails/fence/stops_lower_terms",
		"a batch with a higher term has been applied",
		"--- PASS: TestRunFails/fence/belongs_to_one_shard",
		"--- PASS: TestRunFails/load/none",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("output of a test of a store without a fence: got no %q in\n%s", want, out)
		}
	}
}
