package storetest

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func versionFaults() []fault {
	return []fault{
		{"gives a version to what was never written", []string{"version/is zero before the first write"}, reversioned(func(v *breaker.Version) { v.Epoch = max(v.Epoch, 1) }, func(*broken, int, *breaker.Version) {})},
		{
			"counts each write twice",
			[]string{"version/number counts writes and epoch stays", "version/all shards are in one answer", "batch/has 500 changes"},
			reversioned(func(v *breaker.Version) { v.Number *= 2 }, func(_ *broken, _ int, v *breaker.Version) { v.Number /= 2 }),
		},
		{"counts batches without changes", []string{"version/batch without changes changes none"}, changedBatch(func(batch *breaker.Batch) {
			if len(batch.Changes) == 0 {
				batch.Changes = []breaker.Change{drop(batch.Shard, 1<<40)}
			}
		})},
		{"forgets the last shard in Versions", []string{"version/all shards are in one answer"}, changedVersions(func(v *breaker.Versions, _ int) {
			v.Shards[breaker.NumShards-1] = breaker.Version{}
		})},
		{
			"has one epoch for ever",
			[]string{"version/epoch is the time of the first write", "version/epoch is another after a loss of everything"},
			reversioned(func(v *breaker.Version) { v.Epoch = min(v.Epoch, 1) }, func(b *broken, shard int, v *breaker.Version) {
				if v.Epoch == 1 {
					v.Epoch = b.version(shard).Epoch
				}
			}),
		},
		{"compares numbers only", []string{"version/epoch is another after a loss of everything", "batch/with another version is a conflict"}, applying(func(ctx context.Context, b *broken, batch breaker.Batch) (breaker.Version, error) {
			batch.Expect.Epoch = b.version(batch.Shard).Epoch
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"forgets a shard without records", []string{"version/goes on after everything is deleted", "load/shards that hold nothing"}, changedLoad(func(_ []int, loaded []breaker.Shard) []breaker.Shard {
			for i := range loaded {
				if len(loaded[i].Records) == 0 {
					loaded[i].Version = breaker.Version{}
				}
			}
			return loaded
		})},
	}
}

// reversioned changes the versions that the store returns, and those that it gets.
func reversioned(out func(*breaker.Version), in func(*broken, int, *breaker.Version)) opener {
	return shared(func(b *broken) {
		b.versions = func(ctx context.Context) (breaker.Versions, error) {
			v, err := b.MemoryStore.Versions(ctx)
			for i := range v.Shards {
				out(&v.Shards[i])
			}
			return v, err
		}
		b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
			loaded, err := b.MemoryStore.Load(ctx, shards)
			for i := range loaded {
				out(&loaded[i].Version)
			}
			return loaded, err
		}
		b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
			in(b, batch.Shard, &batch.Expect)
			v, err := b.MemoryStore.Apply(ctx, batch)
			out(&v)
			return v, err
		}
	})
}

// changedVersions changes what each handle returns for Versions, by its number.
func changedVersions(change func(v *breaker.Versions, handle int)) opener {
	return each(func(b *broken, handle int) {
		b.versions = func(ctx context.Context) (breaker.Versions, error) {
			v, err := b.MemoryStore.Versions(ctx)
			change(&v, handle)
			return v, err
		}
	})
}

func clockFaults() []fault {
	return []fault{
		{"takes milliseconds for microseconds", []string{"clock/is about right", "clock/keeps pace"}, changedVersions(func(v *breaker.Versions, _ int) { v.Now = time.UnixMicro(v.Now.UnixMilli()) })},
		{"has a clock that stops", []string{"clock/keeps pace", "lease/ended lease is not extended"}, changedVersions(func(v *breaker.Versions, _ int) { v.Now = v.Now.Truncate(24 * time.Hour) })},
		{"takes each handle's own clock", []string{"clock/does not step back between handles"}, changedVersions(func(v *breaker.Versions, handle int) {
			v.Now = v.Now.Add(time.Duration(handle) * time.Minute)
		})},
		{"has a clock of whole seconds", []string{"clock/tells parts of a second"}, changedVersions(func(v *breaker.Versions, _ int) { v.Now = v.Now.Truncate(time.Second) })},
	}
}
