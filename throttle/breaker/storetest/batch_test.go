package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

func loadFaults() []fault {
	return []fault{
		{"mixes up the shards it was asked for", []string{"load/any shards in any order"}, changedLoad(func(asked []int, loaded []store.Shard) []store.Shard {
			slices.SortFunc(loaded, func(a, b store.Shard) int { return a.Index - b.Index })
			for i := range loaded {
				loaded[i].Index = asked[i]
			}
			return loaded
		})},
		{"takes none for all", []string{"load/none"}, loading(func(ctx context.Context, b *broken, shards []int) ([]store.Shard, error) {
			if len(shards) == 0 {
				shards = allShards()
			}
			return b.MemoryStore.Load(ctx, shards)
		})},
		{"joins a shard with itself", []string{"load/the same shard twice"}, changedLoad(func(asked []int, loaded []store.Shard) []store.Shard {
			for i, s := range loaded {
				if slices.Contains(asked[:i], s.Index) {
					loaded[i].Records = slices.Concat(s.Records, s.Records)
				}
			}
			return loaded
		})},
		{"leaves out shards that hold nothing", []string{"load/shards that hold nothing", "version/is zero before the first write"}, changedLoad(func(_ []int, loaded []store.Shard) []store.Shard {
			return slices.DeleteFunc(loaded, func(s store.Shard) bool { return len(s.Records) == 0 })
		})},
		{
			"forgets deletes",
			[]string{"load/deleted records are gone", "batch/creates, replaces and deletes at once", "version/goes on after everything is deleted"},
			changedBatch(func(batch *store.Batch) {
				batch.Changes = slices.DeleteFunc(batch.Changes, func(c store.Change) bool { return c.Data == nil && len(batch.Changes) > 1 })
			}),
		},
	}
}

func changedLoad(change func([]int, []store.Shard) []store.Shard) opener {
	return loading(func(ctx context.Context, b *broken, shards []int) ([]store.Shard, error) {
		loaded, err := b.MemoryStore.Load(ctx, shards)
		return change(shards, loaded), err
	})
}

// changedBatch changes what is written. It gets changes that it may change.
func changedBatch(change func(*store.Batch)) opener {
	return applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
		batch.Changes = slices.Clone(batch.Changes)
		change(&batch)
		return b.MemoryStore.Apply(ctx, batch)
	})
}

func changedData(change func([]byte) []byte) opener {
	return changedBatch(func(batch *store.Batch) {
		for i, c := range batch.Changes {
			if c.Data != nil {
				batch.Changes[i].Data = change(c.Data)
			}
		}
	})
}

func changedID(change func(id []byte)) opener {
	return changedBatch(func(batch *store.Batch) {
		for i := range batch.Changes {
			change(batch.Changes[i].ID[:])
		}
	})
}

func dataFaults() []fault {
	comesBack := []string{"data/comes back as it was written"}
	return []fault{
		{"truncates data", []string{"data/of two megabytes"}, changedData(func(data []byte) []byte { return data[:min(len(data), 65535)] })},
		{"ends data at a NUL", comesBack, changedData(func(data []byte) []byte { return bytes.SplitN(data, []byte{0}, 2)[0] })},
		{"mends UTF-8", comesBack, changedData(func(data []byte) []byte { return bytes.ToValidUTF8(data, []byte("?")) })},
		{"trims data", comesBack, changedData(bytes.TrimSpace)},
		{"takes empty data for none", comesBack, changedData(func(data []byte) []byte { return append([]byte(nil), data...) })},
		{"has names of seven bits", []string{"data/names of any bytes"}, changedID(func(id []byte) {
			for i := range id {
				id[i] &= 0x7f
			}
		})},
		{"has names without case", []string{"data/names that differ in one byte"}, changedID(func(id []byte) { copy(id[2:], bytes.ToLower(id[2:])) })},
	}
}

func batchFaults() []fault {
	const conflict = "batch/with another version is a conflict"
	return []fault{
		{
			"does not replace",
			[]string{"batch/creates, replaces and deletes at once", "data/comes back as it was written"},
			applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
				there := b.records(batch.Shard)
				batch.Changes = slices.Clone(batch.Changes)
				for i, c := range batch.Changes {
					if old, ok := there[c.ID]; ok && c.Data != nil {
						batch.Changes[i].Data = old
					}
				}
				return b.MemoryStore.Apply(ctx, batch)
			}),
		},
		{"cannot delete what is not there", []string{"batch/deletes what is not there"}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			for _, c := range batch.Changes {
				if _, ok := b.records(batch.Shard)[c.ID]; !ok && c.Data == nil {
					return store.Version{}, errBroken
				}
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"writes no more than 100 changes", []string{"batch/has 500 changes"}, changedBatch(func(batch *store.Batch) {
			batch.Changes = batch.Changes[:min(len(batch.Changes), 100)]
		})},
		{"writes half a batch in conflict", []string{conflict}, afterApply(func(ctx context.Context, b *broken, batch store.Batch, err error) error {
			if errors.Is(err, store.ErrConflict) && len(batch.Changes) > 1 {
				batch.Expect, batch.Changes = b.version(batch.Shard), batch.Changes[:1]
				_, _ = b.MemoryStore.Apply(ctx, batch)
			}
			return err
		})},
		{"has errors of its own", []string{conflict, "fence/stops lower terms"}, afterApply(func(_ context.Context, _ *broken, _ store.Batch, err error) error {
			if err != nil {
				return errBroken
			}
			return nil
		})},
		{"leaves a term in conflict", []string{"batch/in conflict leaves no term"}, afterApply(func(ctx context.Context, b *broken, batch store.Batch, err error) error {
			if errors.Is(err, store.ErrConflict) {
				_, _ = b.MemoryStore.Apply(ctx, store.Batch{Shard: batch.Shard, Term: batch.Term, Expect: b.version(batch.Shard)})
			}
			return err
		})},
		{"writes into the next shard too", []string{"batch/changes one shard only"}, afterApply(func(ctx context.Context, b *broken, batch store.Batch, err error) error {
			next := (batch.Shard + 1) % store.NumShards
			_, _ = b.MemoryStore.Apply(ctx, store.Batch{Shard: next, Expect: b.version(next), Changes: batch.Changes})
			return err
		})},
	}
}

// afterApply does something after each Apply, and changes its error.
func afterApply(do func(context.Context, *broken, store.Batch, error) error) opener {
	return applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
		v, err := b.MemoryStore.Apply(ctx, batch)
		return v, do(ctx, b, batch, err)
	})
}

// records returns what a shard holds.
func (b *broken) records(shard int) map[store.RecordID][]byte {
	loaded, _ := b.MemoryStore.Load(context.Background(), []int{shard})
	return contents(loaded[0])
}
