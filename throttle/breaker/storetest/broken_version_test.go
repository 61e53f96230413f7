package storetest

import (
	"context"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func versionMutants() []mutant {
	return []mutant{
		{"gives a version to what was never written", []string{"version/is zero before the first write"}, changedVersion(func(v *breaker.Version) {
			if v.Epoch == 0 {
				v.Epoch = 1
			}
		})},
		{"counts each write twice", []string{"version/number counts writes and epoch stays", "version/all shards are in one answer", "batch/has 500 changes"}, shared(func(b *broken) {
			b.reversion(func(v *breaker.Version) { v.Number *= 2 }, func(_ int, v *breaker.Version) { v.Number /= 2 })
		})},
		{"counts batches without changes", []string{"version/batch without changes changes none"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				if len(batch.Changes) == 0 {
					batch.Changes = []breaker.Change{drop(batch.Shard, 1<<40)}
				}
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"forgets the last shard in Versions", []string{"version/all shards are in one answer"}, shared(func(b *broken) {
			b.versions = func(ctx context.Context) (breaker.Versions, error) {
				v, err := b.MemoryStore.Versions(ctx)
				v.Shards[breaker.NumShards-1] = breaker.Version{}
				return v, err
			}
		})},
		{
			"has one epoch for ever",
			[]string{"version/epoch is the time of the first write", "version/epoch is another after a loss of everything"},
			shared(func(b *broken) {
				b.reversion(func(v *breaker.Version) { v.Epoch = min(v.Epoch, 1) }, func(shard int, v *breaker.Version) {
					if v.Epoch == 1 {
						v.Epoch = b.version(shard).Epoch
					}
				})
			}),
		},
		{"compares numbers only", []string{"version/epoch is another after a loss of everything", "batch/with another version is a conflict"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				batch.Expect.Epoch = b.version(batch.Shard).Epoch
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"forgets a shard without records", []string{"version/goes on after everything is deleted", "load/shards that hold nothing"}, shared(func(b *broken) {
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				loaded, err := b.MemoryStore.Load(ctx, shards)
				for i := range loaded {
					if len(loaded[i].Records) == 0 {
						loaded[i].Version = breaker.Version{}
					}
				}
				return loaded, err
			}
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				if loaded, _ := b.MemoryStore.Load(ctx, []int{batch.Shard}); len(loaded[0].Records) == 0 && batch.Expect == (breaker.Version{}) {
					batch.Expect = loaded[0].Version
				}
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
	}
}

// reversion changes the versions that the store tells, and those that it is told.
func (b *broken) reversion(tell func(*breaker.Version), told func(int, *breaker.Version)) {
	b.versions = func(ctx context.Context) (breaker.Versions, error) {
		v, err := b.MemoryStore.Versions(ctx)
		for i := range v.Shards {
			tell(&v.Shards[i])
		}
		return v, err
	}
	b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
		loaded, err := b.MemoryStore.Load(ctx, shards)
		for i := range loaded {
			tell(&loaded[i].Version)
		}
		return loaded, err
	}
	b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
		told(batch.Shard, &batch.Expect)
		v, err := b.MemoryStore.Apply(ctx, batch)
		tell(&v)
		return v, err
	}
}

func changedVersion(tell func(*breaker.Version)) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) { b.reversion(tell, func(int, *breaker.Version) {}) })
}

func clockMutants() []mutant {
	return []mutant{
		{"takes milliseconds for microseconds", []string{"clock/is about right", "clock/keeps pace"}, changedClock(func(now time.Time, _ int) time.Time {
			return time.UnixMicro(now.UnixMilli())
		})},
		{"has a clock that stands still", []string{"clock/keeps pace", "lease/ended lease is not extended"}, changedClock(func(now time.Time, _ int) time.Time {
			return now.Truncate(24 * time.Hour)
		})},
		{"takes each handle's own clock", []string{"clock/does not step back between handles"}, changedClock(func(now time.Time, handle int) time.Time {
			return now.Add(time.Duration(handle) * time.Minute)
		})},
		{"has a clock of whole seconds", []string{"clock/tells parts of a second"}, changedClock(func(now time.Time, _ int) time.Time {
			return now.Truncate(time.Second)
		})},
	}
}

func changedClock(change func(time.Time, int) time.Time) func(*recorder) func() breaker.Store {
	return each(func(b *broken, handle int) {
		b.versions = func(ctx context.Context) (breaker.Versions, error) {
			v, err := b.MemoryStore.Versions(ctx)
			v.Now = change(v.Now, handle)
			return v, err
		}
	})
}
