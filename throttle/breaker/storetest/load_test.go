package storetest

import (
	"bytes"
	"context"
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
		{"omits empty shards", []string{"load/empty shards"}, changedLoad(func(_ []int, loaded []store.Shard) []store.Shard {
			return slices.DeleteFunc(loaded, func(s store.Shard) bool { return len(s.Records) == 0 })
		})},
		{"forgets deletes", []string{"load/deleted records are gone"}, changedBatch(func(batch *store.Batch) {
			batch.Changes = slices.DeleteFunc(batch.Changes, func(c store.Change) bool { return c.Data == nil && len(batch.Changes) > 1 })
		})},
	}
}

func changedLoad(change func([]int, []store.Shard) []store.Shard) opener {
	return loading(func(ctx context.Context, b *broken, shards []int) ([]store.Shard, error) {
		loaded, err := b.MemoryStore.Load(ctx, shards)
		return change(shards, loaded), err
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
	comesBack := []string{"data/is returned unchanged"}
	return []fault{
		{"truncates data", []string{"data/two megabytes"}, changedData(func(data []byte) []byte { return data[:min(len(data), 65535)] })},
		{"ends data at a NUL", comesBack, changedData(func(data []byte) []byte { return bytes.SplitN(data, []byte{0}, 2)[0] })},
		{"repairs UTF-8", comesBack, changedData(func(data []byte) []byte { return bytes.ToValidUTF8(data, []byte("?")) })},
		{"trims data", comesBack, changedData(bytes.TrimSpace)},
		{"deletes if data is empty", comesBack, changedData(func(data []byte) []byte { return append([]byte(nil), data...) })},
		{"keeps seven bits of a byte of an ID", []string{"data/record IDs of any bytes"}, changedID(func(id []byte) {
			for i := range id {
				id[i] &= 0x7f
			}
		})},
		{"ignores the case of an ID", []string{"data/record IDs that differ in one byte"}, changedID(func(id []byte) { copy(id[2:], bytes.ToLower(id[2:])) })},
	}
}
