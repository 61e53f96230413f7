package storetest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func raceMutants() []mutant {
	return []mutant{
		{
			"does not compare versions",
			[]string{"batch/with another version is a conflict", "race/first write has one winner", "race/no update is lost", "version/goes on after everything is deleted"},
			shared(func(b *broken) {
				b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
					defer moment() // so that another one can write before this one does
					return b.MemoryStore.Load(ctx, shards)
				}
				b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
					batch.Expect = b.version(batch.Shard)
					return b.MemoryStore.Apply(ctx, batch)
				}
			}),
		},
		{"compares before it writes, not while", []string{"race/first write has one winner", "race/no update is lost"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				if batch.Expect != b.version(batch.Shard) {
					return breaker.Version{}, breaker.ErrConflict
				}
				moment()
				batch.Expect = b.version(batch.Shard)
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"has one lock for all shards", []string{"race/shards do not wait for each other"}, shared(func(b *broken) {
			var busy atomic.Bool
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				if !busy.CompareAndSwap(false, true) {
					return breaker.Version{}, breaker.ErrConflict
				}
				defer busy.Store(false)
				moment()
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"reads the version before the records", []string{"snapshot/is of one instant"}, slowly(func(b *broken) {
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				before, _ := b.MemoryStore.Load(ctx, shards)
				moment()
				after, err := b.MemoryStore.Load(ctx, shards)
				for i := range after {
					after[i].Version = before[i].Version
				}
				return after, err
			}
		})},
		{"reads the records in parts", []string{"snapshot/is of one instant"}, slowly(func(b *broken) {
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				before, _ := b.MemoryStore.Load(ctx, shards)
				moment()
				after, err := b.MemoryStore.Load(ctx, shards)
				for i := range after {
					old := contents(before[i])
					for j, record := range after[i].Records {
						if data, ok := old[record.ID]; ok && record.ID[31]%2 == 0 {
							after[i].Records[j].Data = data
						}
					}
				}
				return after, err
			}
		})},
		{"reads from a replica that is behind", []string{"snapshot/is not older than Versions said"}, behind()},
	}
}

// slowly makes writes take a moment, so that readers get a turn between them.
func slowly(breakIt func(*broken)) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
			moment()
			return b.MemoryStore.Apply(ctx, batch)
		}
		breakIt(b)
	})
}

// behind has a replica that lacks the last three writes. A reader's turn is after the moment that a write takes, and there can be only one
// write in it.
func behind() func(*recorder) func() breaker.Store {
	return slowly(func(b *broken) {
		var mu sync.Mutex
		var past []breaker.Shard
		write := b.apply
		b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
			now, _ := b.MemoryStore.Load(ctx, []int{batch.Shard})
			mu.Lock()
			past = append(past, now[0])
			mu.Unlock()
			return write(ctx, batch)
		}
		b.versions = func(ctx context.Context) (breaker.Versions, error) {
			moment()
			return b.MemoryStore.Versions(ctx)
		}
		b.load = func(context.Context, []int) ([]breaker.Shard, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(past) == 0 {
				return []breaker.Shard{{Index: 3}}, nil
			}
			return []breaker.Shard{past[max(0, len(past)-3)]}, nil
		}
	})
}
