package storetest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// raceFaults break rules about concurrent calls.
func raceFaults() []fault {
	const first, lost = "race/first write has one winner", "race/no update is lost"
	return []fault{
		{"compares before it writes, not while", []string{first, lost}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			if batch.Expect != b.version(batch.Shard) {
				return store.Version{}, store.ErrConflict
			}
			yield()
			batch.Expect = b.version(batch.Shard)
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"has one lock for all shards", []string{"race/shards are independent"}, shared(func(b *broken) {
			var busy atomic.Bool
			b.apply = func(ctx context.Context, batch store.Batch) (store.Version, error) {
				if !busy.CompareAndSwap(false, true) {
					return store.Version{}, store.ErrConflict
				}
				defer busy.Store(false)
				yield()
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"reads the version before the records", []string{"snapshot/is of one instant"}, torn(func(before, after *store.Shard) { after.Version = before.Version })},
		{"reads from a replica that is behind", []string{"snapshot/is not older than Versions"}, behind()},
	}
}

// slowly delays writes, so that readers run between them.
func slowly(breakIt func(*broken)) opener {
	return shared(func(b *broken) {
		b.apply = func(ctx context.Context, batch store.Batch) (store.Version, error) {
			yield()
			return b.MemoryStore.Apply(ctx, batch)
		}
		breakIt(b)
	})
}

// torn mixes two reads of different instants.
func torn(mix func(before, after *store.Shard)) opener {
	return slowly(func(b *broken) {
		b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
			before, _ := b.MemoryStore.Load(ctx, shards)
			yield()
			after, err := b.MemoryStore.Load(ctx, shards)
			for i := range after {
				mix(&before[i], &after[i])
			}
			return after, err
		}
	})
}

// behind reads from a replica that lacks the last three writes.
func behind() opener {
	return slowly(func(b *broken) {
		var mu sync.Mutex
		var past []store.Shard
		write := b.apply
		b.apply = func(ctx context.Context, batch store.Batch) (store.Version, error) {
			now, _ := b.MemoryStore.Load(ctx, []int{batch.Shard})
			mu.Lock()
			past = append(past, now[0])
			mu.Unlock()
			return write(ctx, batch)
		}
		b.versions = func(ctx context.Context) (store.Versions, error) {
			yield()
			return b.MemoryStore.Versions(ctx)
		}
		b.load = func(context.Context, []int) ([]store.Shard, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(past) == 0 {
				return []store.Shard{{Index: 3}}, nil
			}
			return []store.Shard{past[max(0, len(past)-3)]}, nil
		}
	})
}
