package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func loadMutants() []mutant {
	return []mutant{
		{"mixes up the shards it was asked for", []string{"load/any shards in any order"}, changedLoad(func(asked []int, loaded []breaker.Shard) []breaker.Shard {
			slices.SortFunc(loaded, func(a, b breaker.Shard) int { return a.Index - b.Index })
			for i := range loaded {
				loaded[i].Index = asked[i]
			}
			return loaded
		})},
		{"takes none for all", []string{"load/none"}, shared(func(b *broken) {
			b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
				if len(shards) == 0 {
					shards = allShards()
				}
				return b.MemoryStore.Load(ctx, shards)
			}
		})},
		{"joins a shard with itself", []string{"load/the same shard twice"}, changedLoad(func(asked []int, loaded []breaker.Shard) []breaker.Shard {
			for i, s := range loaded {
				for _, other := range asked[:i] {
					if other == s.Index {
						loaded[i].Records = append(slices.Clone(loaded[i].Records), s.Records...)
					}
				}
			}
			return loaded
		})},
		{"leaves out shards that hold nothing", []string{"load/shards that hold nothing", "version/is zero before the first write"}, changedLoad(func(_ []int, loaded []breaker.Shard) []breaker.Shard {
			return slices.DeleteFunc(loaded, func(s breaker.Shard) bool { return len(s.Records) == 0 })
		})},
		{"forgets deletes", []string{"load/deleted records are gone", "batch/creates, replaces and deletes at once", "version/goes on after everything is deleted"}, changedBatch(func(batch *breaker.Batch) {
			batch.Changes = slices.DeleteFunc(slices.Clone(batch.Changes), func(c breaker.Change) bool { return c.Data == nil && len(batch.Changes) > 1 })
		})},
	}
}

func changedLoad(change func([]int, []breaker.Shard) []breaker.Shard) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.load = func(ctx context.Context, shards []int) ([]breaker.Shard, error) {
			loaded, err := b.MemoryStore.Load(ctx, shards)
			return change(shards, loaded), err
		}
	})
}

func changedBatch(change func(*breaker.Batch)) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
			change(&batch)
			return b.MemoryStore.Apply(ctx, batch)
		}
	})
}

func changedData(change func([]byte) []byte) func(*recorder) func() breaker.Store {
	return changedBatch(func(batch *breaker.Batch) {
		batch.Changes = slices.Clone(batch.Changes)
		for i, c := range batch.Changes {
			if c.Data != nil {
				batch.Changes[i].Data = change(c.Data)
			}
		}
	})
}

func changedID(change func(*breaker.RecordID)) func(*recorder) func() breaker.Store {
	return changedBatch(func(batch *breaker.Batch) {
		batch.Changes = slices.Clone(batch.Changes)
		for i := range batch.Changes {
			change(&batch.Changes[i].ID)
		}
	})
}

func dataMutants() []mutant {
	const comesBack = comesBackAsWritten
	return []mutant{
		{"truncates data", []string{"data/of two megabytes"}, changedData(func(data []byte) []byte { return data[:min(len(data), 65535)] })},
		{"ends data at a NUL", []string{comesBack}, changedData(func(data []byte) []byte {
			before, _, _ := bytes.Cut(data, []byte{0})
			return before
		})},
		{"mends UTF-8", []string{comesBack}, changedData(func(data []byte) []byte { return bytes.ToValidUTF8(data, []byte("?")) })},
		{"trims data", []string{comesBack}, changedData(bytes.TrimSpace)},
		{"takes empty data for none", []string{comesBack}, changedData(func(data []byte) []byte {
			if len(data) == 0 {
				return nil
			}
			return data
		})},
		{"has names of seven bits", []string{"data/names of any bytes"}, changedID(func(id *breaker.RecordID) {
			for i := range id {
				id[i] &= 0x7f
			}
		})},
		{"has names without case", []string{"data/names that differ in one byte"}, changedID(func(id *breaker.RecordID) {
			copy(id[2:], bytes.ToLower(id[2:]))
		})},
	}
}

func batchMutants() []mutant {
	const mixes, conflict = "batch/creates, replaces and deletes at once", "batch/with another version is a conflict"
	return []mutant{
		{"does not replace", []string{mixes, comesBackAsWritten}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				loaded, _ := b.MemoryStore.Load(ctx, []int{batch.Shard})
				there := contents(loaded[0])
				batch.Changes = slices.Clone(batch.Changes)
				for i, c := range batch.Changes {
					if old, ok := there[c.ID]; ok && c.Data != nil {
						batch.Changes[i].Data = old
					}
				}
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"cannot delete what is not there", []string{"batch/deletes what is not there"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				loaded, _ := b.MemoryStore.Load(ctx, []int{batch.Shard})
				for _, c := range batch.Changes {
					if _, ok := contents(loaded[0])[c.ID]; !ok && c.Data == nil {
						return breaker.Version{}, errors.New("no such record")
					}
				}
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"writes no more than 100 changes", []string{"batch/has 500 changes"}, changedBatch(func(batch *breaker.Batch) {
			batch.Changes = batch.Changes[:min(len(batch.Changes), 100)]
		})},
		{"writes half a batch in conflict", []string{conflict}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				v, err := b.MemoryStore.Apply(ctx, batch)
				if errors.Is(err, breaker.ErrConflict) && len(batch.Changes) > 1 {
					batch.Expect, batch.Changes = b.version(batch.Shard), batch.Changes[:1]
					_, _ = b.MemoryStore.Apply(ctx, batch)
				}
				return v, err
			}
		})},
		{"has errors of its own", []string{conflict, "fence/stops lower terms"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				v, err := b.MemoryStore.Apply(ctx, batch)
				if err != nil {
					err = errors.New(err.Error())
				}
				return v, err
			}
		})},
		{"leaves a term in conflict", []string{"batch/in conflict leaves no term"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				v, err := b.MemoryStore.Apply(ctx, batch)
				if errors.Is(err, breaker.ErrConflict) {
					_, _ = b.MemoryStore.Apply(ctx, breaker.Batch{Shard: batch.Shard, Term: batch.Term, Expect: b.version(batch.Shard)})
				}
				return v, err
			}
		})},
		{"writes into the next shard too", []string{"batch/changes one shard only"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				next := (batch.Shard + 1) % breaker.NumShards
				_, _ = b.MemoryStore.Apply(ctx, breaker.Batch{Shard: next, Expect: b.version(next), Changes: batch.Changes})
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
	}
}

const comesBackAsWritten = "data/comes back as it was written"
