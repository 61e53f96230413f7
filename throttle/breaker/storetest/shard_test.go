package storetest

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func versionFaults() []fault {
	return []fault{
		{"gives a version to what was never written", []string{"version/is zero before the first write"}, reversioned(func(v *store.Version) { v.Epoch = max(v.Epoch, 1) }, func(*broken, int, *store.Version) {})},
		{"counts each write twice", []string{"version/number counts writes, epoch stays"}, reversioned(func(v *store.Version) { v.Number *= 2 }, func(_ *broken, _ int, v *store.Version) { v.Number /= 2 })},
		{"counts batches without changes", []string{"version/a batch without changes keeps the version"}, changedBatch(func(batch *store.Batch) {
			if len(batch.Changes) == 0 {
				batch.Changes = []store.Change{drop(batch.Shard, 1<<40)}
			}
		})},
		{"omits the last shard in Versions", []string{"version/Versions returns all shards"}, changedVersions(func(v *store.Versions, _ int) {
			v.Shards[store.NumShards-1] = store.Version{}
		})},
		{"always has the same epoch", []string{"version/epoch is the time of the first write"}, reversioned(func(v *store.Version) { v.Epoch = min(v.Epoch, 1) }, func(b *broken, shard int, v *store.Version) {
			if v.Epoch == 1 {
				v.Epoch = b.version(shard).Epoch
			}
		})},
		{"compares numbers only", []string{"version/epoch changes after data loss"}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			batch.Expect.Epoch = b.version(batch.Shard).Epoch
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"forgets a shard without records", []string{"version/continues after all records are deleted"}, changedLoad(func(_ []int, loaded []store.Shard) []store.Shard {
			for i := range loaded {
				if len(loaded[i].Records) == 0 {
					loaded[i].Version = store.Version{}
				}
			}
			return loaded
		})},
	}
}

// reversioned changes the versions that the store returns and receives.
func reversioned(out func(*store.Version), in func(*broken, int, *store.Version)) opener {
	return shared(func(b *broken) {
		b.versions = func(ctx context.Context) (store.Versions, error) {
			v, err := b.MemoryStore.Versions(ctx)
			for i := range v.Shards {
				out(&v.Shards[i])
			}
			return v, err
		}
		b.load = func(ctx context.Context, shards []int) ([]store.Shard, error) {
			loaded, err := b.MemoryStore.Load(ctx, shards)
			for i := range loaded {
				out(&loaded[i].Version)
			}
			return loaded, err
		}
		b.apply = func(ctx context.Context, batch store.Batch) (store.Version, error) {
			in(b, batch.Shard, &batch.Expect)
			v, err := b.MemoryStore.Apply(ctx, batch)
			out(&v)
			return v, err
		}
	})
}

// changedVersions changes what Versions returns, by the number of the handle.
func changedVersions(change func(v *store.Versions, handle int)) opener {
	return each(func(b *broken, handle int) {
		b.versions = func(ctx context.Context) (store.Versions, error) {
			v, err := b.MemoryStore.Versions(ctx)
			change(&v, handle)
			return v, err
		}
	})
}

func clockFaults() []fault {
	return []fault{
		{"returns milliseconds as microseconds", []string{"clock/has the right unit"}, changedVersions(func(v *store.Versions, _ int) { v.Now = time.UnixMicro(v.Now.UnixMilli()) })},
		{"has a clock that stops", []string{"clock/keeps pace with local time"}, changedVersions(func(v *store.Versions, _ int) { v.Now = v.Now.Truncate(24 * time.Hour) })},
		{"uses a clock per handle", []string{"clock/is the same for all handles"}, changedVersions(func(v *store.Versions, handle int) {
			v.Now = v.Now.Add(time.Duration(handle) * time.Minute)
		})},
		{"has a clock of whole seconds", []string{"clock/has fractions of a second"}, changedVersions(func(v *store.Versions, _ int) { v.Now = v.Now.Truncate(time.Second) })},
	}
}
