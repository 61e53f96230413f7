package store_test

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/throttle/breaker"
	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// counting is a store that counts the changes written through it.
type counting struct {
	store.Store
	changes int
}

func (c *counting) Apply(ctx context.Context, b store.Batch) (store.Version, error) {
	v, err := c.Store.Apply(ctx, b)
	if err == nil {
		c.changes += len(b.Changes)
	}
	return v, err
}

func Example() {
	ctx := context.Background()
	s := &counting{Store: breaker.NewMemoryStore()}
	poll := func(context.Context, breaker.PollQuery) (map[breaker.Key]breaker.PollResult, error) { return nil, nil }
	m := breaker.Must(breaker.New(breaker.Config{Name: "webhooks", Store: s, Poll: poll}))
	defer m.Close()

	if err := m.Disable(ctx, breaker.Key{ID: "https://hooks.example.com/7"}); err != nil {
		fmt.Println(err)
	}
	versions, err := s.Versions(ctx)
	shard := breaker.Key{ID: "https://hooks.example.com/7"}.RecordID().Shard()
	fmt.Println(s.changes, versions.Shards[shard].Number, err)
	// Output: 1 1 <nil>
}
