package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func TestMemoryStore(t *testing.T) {
	Run(t, func(*testing.T) func() store.Store {
		s := breaker.NewMemoryStore()
		return func() store.Store { return s }
	})
}

// TestFaults breaks a store in every way that a case is there to find.
func TestFaults(t *testing.T) {
	suite().TestFaults(t, slices.Concat(leaseFaults(), versionFaults(), clockFaults(), loadFaults(), dataFaults(), batchFaults(), fenceFaults(),
		raceFaults(), probeFaults(), budgetFaults(), contextFaults(), watchFaults(), handleFaults()))
}

func TestRunFails(t *testing.T) {
	kit.TestRunFails(t, func() { Run(t, func(*testing.T) func() store.Store { return unfenced(nil) }) }, "^(fence|load)$",
		"--- FAIL: TestRunFails/fence/stops_lower_terms",
		"a batch with a higher term has been applied",
		"--- PASS: TestRunFails/fence/belongs_to_one_shard",
		"--- PASS: TestRunFails/load/empty_shards",
	)
}

// unfenced ignores terms.
var unfenced = applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
	batch.Term = 0
	return b.MemoryStore.Apply(ctx, batch)
})
