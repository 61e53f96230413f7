package storetest

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
)

func TestMemoryStore(t *testing.T) {
	s := bucket.NewMemoryStore()
	Run(t, func(*testing.T) store.Store { return s }, ClockResolution(time.Nanosecond))
}

const brokenProcess = "SPILLWAY_BUCKET_STORETEST_BROKEN"

// TestRunFails runs a broken store in a process of its own, where it may fail as a user's test does.
func TestRunFails(t *testing.T) {
	if os.Getenv(brokenProcess) != "" {
		open := names(strings.ToLower)(nil)
		Run(t, func(*testing.T) store.Store { return open() })
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

func mutants() []mutant {
	return slices.Concat(takeMutants(), timeMutants(), returnMutants(), limitMutants(), keyMutants(), raceMutants(), handleMutants())
}

// TestBrokenStoresAreFound breaks a store in every way that a case is there to find, and wants that
// case to fail. Each case must find something.
func TestBrokenStoresAreFound(t *testing.T) {
	idle := map[string]testCase{}
	for _, g := range groups() {
		for _, c := range g.cases {
			idle[g.name+"/"+c.name] = c
		}
	}
	cases := maps.Clone(idle)
	for _, m := range mutants() {
		for _, name := range m.found {
			delete(idle, name)
			t.Run(m.name+"/"+name, func(t *testing.T) {
				c, known := cases[name]
				if !known {
					t.Fatal("there is no such case")
				}
				r := record(t, c, m.open)
				if len(r.failures) == 0 {
					t.Fatalf("got no failure, want this case to find that a store %s", m.name)
				}
				t.Logf("found: %s", r.failures[0])
			})
		}
	}
	for name := range idle {
		t.Errorf("case %q: no broken store is there for it to find", name)
	}
}

// TestAnUnbrokenStorePasses: no case fails on the store that the others break.
func TestAnUnbrokenStorePasses(t *testing.T) {
	for _, g := range groups() {
		for _, c := range g.cases {
			t.Run(g.name+"/"+c.name, func(t *testing.T) {
				if r := record(t, c, shared(func(*storage) {})); len(r.failures) > 0 {
					t.Errorf("got failures %q, want none", r.failures)
				}
			})
		}
	}
}
