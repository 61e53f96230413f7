package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/throttle/bucket"
	"github.com/spillway-go/spillway/throttle/bucket/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func TestMemoryStore(t *testing.T) {
	s := bucket.NewMemoryStore()
	Run(t, func(*testing.T) func() store.Store { return func() store.Store { return s } }, ClockResolution(time.Nanosecond))
}

func TestRunFails(t *testing.T) {
	ignoresCase := names(strings.ToLower)
	kit.TestRunFails(t, func() { Run(t, func(*testing.T) func() store.Store { return ignoresCase(nil) }) }, "^(key|reset)$",
		"--- FAIL: TestRunFails/key/any_bytes",
		"similar keys must have different buckets",
		"--- PASS: TestRunFails/key/long_keys",
		"--- PASS: TestRunFails/reset/fills_the_bucket",
	)
}

// TestFaults breaks a store in every way that a case is there to find.
func TestFaults(t *testing.T) {
	suite().TestFaults(t, slices.Concat(takeFaults(), timeFaults(), returnFaults(), limitFaults(), keyFaults(), raceFaults(), handleFaults()))
}

// TestPasses runs every case on the store that the faults break, without a fault.
func TestPasses(t *testing.T) {
	suite().TestPasses(t, shared(func(*storage) {}))
}
