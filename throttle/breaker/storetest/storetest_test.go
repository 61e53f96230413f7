package storetest

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func TestMemoryStore(t *testing.T) {
	Run(t, func(*testing.T) func() store.Store {
		s := breaker.NewMemoryStore()
		return func() store.Store { return s }
	})
}

// TestMemoryStoreInBubble runs each case as it is run on broken stores, on a store that is not
// broken.
func TestMemoryStoreInBubble(t *testing.T) {
	if testing.Short() {
		t.Skip("TestMemoryStore runs the same cases on the same store")
	}
	open := shared(func(*broken) {})
	for name, c := range allCases() {
		t.Run(name, func(t *testing.T) {
			if r := record(t, c, open); len(r.failures) > 0 || r.skipped != "" {
				t.Errorf("got failures %q (skipped: %q), want none", r.failures, r.skipped)
			}
		})
	}
}

// allCases returns the cases by "group/case".
func allCases() map[string]testCase {
	all := map[string]testCase{}
	for _, g := range groups() {
		for _, c := range g.cases {
			all[g.name+"/"+c.name] = c
		}
	}
	return all
}

func faults() []fault {
	return slices.Concat(leaseFaults(), versionFaults(), clockFaults(), loadFaults(), dataFaults(), batchFaults(), fenceFaults(),
		raceFaults(), probeFaults(), budgetFaults(), contextFaults(), watchFaults(), handleFaults())
}

// TestBrokenStoresAreFound breaks a store in every way that a case is there to find, and wants that
// case to fail. With -short each store is found by its first case, and each case finds one store at
// least.
func TestBrokenStoresAreFound(t *testing.T) {
	cases, found := allCases(), map[string]bool{}
	for _, f := range faults() {
		for i, name := range f.found {
			if testing.Short() && i > 0 && found[name] {
				continue
			}
			found[name] = true
			t.Run(f.name+"/"+name, func(t *testing.T) {
				r := record(t, cases[name], f.open)
				if len(r.failures) == 0 {
					t.Fatalf("got no failure (skipped: %q), want this case to find that a store %s", r.skipped, f.name)
				}
				t.Logf("found: %s", r.failures[0])
			})
		}
	}
}

// TestEveryCaseFindsSomething wants a broken store for each case, and a case for each name.
func TestEveryCaseFindsSomething(t *testing.T) {
	all, idle := allCases(), allCases()
	for _, f := range faults() {
		for _, name := range f.found {
			if _, ok := all[name]; !ok {
				t.Errorf("a store that %s: there is no case %q", f.name, name)
			}
			delete(idle, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		t.Errorf("case %q: no broken store is there for it to find", name)
	}
}

const brokenProcess = "SPILLWAY_STORETEST_BROKEN"

// TestRunFails runs a store without a fence in a process of its own, where it may fail as a user's
// test does.
func TestRunFails(t *testing.T) {
	if os.Getenv(brokenProcess) != "" {
		Run(t, func(*testing.T) func() store.Store { return unfenced(nil) })
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
		t.Error("a store without a fence: the test passed, want it to fail")
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

// unfenced is a store that does not look at terms.
var unfenced = applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
	batch.Term = 0
	return b.MemoryStore.Apply(ctx, batch)
})
