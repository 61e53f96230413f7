package breaker_test

import (
	"context"
	"testing"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// forgetful is a store that leaves out what it was asked to load.
type forgetful struct{ *meddler }

func (f forgetful) Load(ctx context.Context, shards []int) ([]breaker.Shard, error) {
	loaded, err := f.meddler.Load(ctx, shards)
	return loaded[1:], err
}

// TestAShardThatIsNotLoadedIsAnError refreshes from a store that does not load all that was asked for.
func TestAShardThatIsNotLoadedIsAnError(t *testing.T) {
	store, k := newMeddler(breaker.NewMemoryStore()), breaker.Key{ID: "a"}
	if err := agent(t, breaker.Config{Store: store}).Disable(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	m := agent(t, breaker.Config{Store: forgetful{store}})
	if err := m.Refresh(t.Context()); err == nil || m.Stats().Failures[breaker.StoreFailed] != 1 {
		t.Errorf("got error %v and %d failures of the store told, want an error and 1", err, m.Stats().Failures[breaker.StoreFailed])
	}
}
