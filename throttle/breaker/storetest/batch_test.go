package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// changedBatch changes what is written. The func may modify the changes.
func changedBatch(change func(*store.Batch)) opener {
	return applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
		batch.Changes = slices.Clone(batch.Changes)
		change(&batch)
		return b.MemoryStore.Apply(ctx, batch)
	})
}

func batchFaults() []fault {
	const conflict = "batch/another version is a conflict"
	return []fault{
		{"does not replace", []string{"batch/creates, replaces and deletes"}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			there := b.records(batch.Shard)
			batch.Changes = slices.Clone(batch.Changes)
			for i, c := range batch.Changes {
				if old, ok := there[c.ID]; ok && c.Data != nil {
					batch.Changes[i].Data = old
				}
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"fails to delete a missing record", []string{"batch/deletes missing records"}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			for _, c := range batch.Changes {
				if _, ok := b.records(batch.Shard)[c.ID]; !ok && c.Data == nil {
					return store.Version{}, errBroken
				}
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"writes at most 100 changes", []string{"batch/500 changes"}, changedBatch(func(batch *store.Batch) {
			batch.Changes = batch.Changes[:min(len(batch.Changes), 100)]
		})},
		{"writes half a batch in conflict", []string{conflict}, afterApply(func(ctx context.Context, b *broken, batch store.Batch, err error) error {
			if errors.Is(err, store.ErrConflict) && len(batch.Changes) > 1 {
				batch.Expect, batch.Changes = b.version(batch.Shard), batch.Changes[:1]
				_, _ = b.MemoryStore.Apply(ctx, batch)
			}
			return err
		})},
		{"leaves a term in conflict", []string{"batch/a conflict leaves no term"}, afterApply(func(ctx context.Context, b *broken, batch store.Batch, err error) error {
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

// afterApply calls a func after each Apply, and returns its error.
func afterApply(do func(context.Context, *broken, store.Batch, error) error) opener {
	return applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
		v, err := b.MemoryStore.Apply(ctx, batch)
		return v, do(ctx, b, batch, err)
	})
}

// records returns the records of a shard.
func (b *broken) records(shard int) map[store.RecordID][]byte {
	loaded, _ := b.MemoryStore.Load(context.Background(), []int{shard})
	return contents(loaded[0])
}

// fence checks the terms of shards, before a store that ignores terms.
type fence struct {
	mu    sync.Mutex
	terms map[int]uint64
	place func(shard int) int          // the shard whose term is used
	lower func(term, than uint64) bool // whether a batch is stopped
	leave func(b store.Batch) bool     // whether an applied batch stores its term
}

// guard puts a fence with a fault before a store.
func guard(b *broken, change func(*fence)) {
	f := &fence{
		terms: map[int]uint64{},
		place: func(shard int) int { return shard },
		lower: func(term, than uint64) bool { return term != 0 && term < than },
		leave: func(store.Batch) bool { return true },
	}
	change(f)
	b.apply = func(ctx context.Context, batch store.Batch) (store.Version, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		at, term := f.place(batch.Shard), batch.Term
		if f.lower(term, f.terms[at]) {
			return store.Version{}, store.ErrFenced
		}
		batch.Term = 0
		v, err := b.MemoryStore.Apply(ctx, batch)
		batch.Term = term
		if err == nil && f.leave(batch) {
			f.terms[at] = max(f.terms[at], term)
		}
		return v, err
	}
}

func fenced(change func(*fence)) opener { return shared(func(b *broken) { guard(b, change) }) }

// comparing stops the terms for which lower returns true, and never term 0.
func comparing(lower func(term, than uint64) bool) opener {
	return fenced(func(f *fence) {
		f.lower = func(term, than uint64) bool { return term != 0 && lower(term, than) }
	})
}

func fenceFaults() []fault {
	const stops, numbers, byHand = "fence/stops lower terms", "fence/compares terms as numbers", "fence/lets term 0 pass"
	return []fault{
		{"has no fence", []string{stops, "fence/stops an old leader under load"}, unfenced},
		{"keeps terms in the handle", []string{stops}, each(func(b *broken, _ int) { guard(b, func(*fence) {}) })},
		{"reports a conflict before the fence", []string{"fence/comes before a conflict"}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			if batch.Expect != b.version(batch.Shard) {
				return store.Version{}, store.ErrConflict
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"compares terms as texts", []string{numbers}, comparing(func(term, than uint64) bool {
			return strconv.FormatUint(term, 10) < strconv.FormatUint(than, 10)
		})},
		{"keeps 32 bits of a term", []string{numbers}, comparing(func(term, than uint64) bool { return uint32(term) < uint32(than) })},
		{"stops the same term", []string{stops}, comparing(func(term, than uint64) bool { return term <= than })},
		{"keeps no term of a batch without changes", []string{"fence/is set by a batch without changes"}, fenced(func(f *fence) {
			f.leave = func(b store.Batch) bool { return len(b.Changes) > 0 }
		})},
		{"stops term 0", []string{byHand}, fenced(func(f *fence) { f.lower = func(term, than uint64) bool { return term < than } })},
		{"clears the term of a shard without records", []string{"fence/outlives the records"}, fenced(func(f *fence) {
			f.leave = func(b store.Batch) bool {
				if len(b.Changes) == 1 && b.Changes[0].Data == nil {
					f.terms[b.Shard] = 0
					return false
				}
				return true
			}
		})},
		{"has one term for all shards", []string{"fence/belongs to one shard"}, fenced(func(f *fence) { f.place = func(int) int { return 0 } })},
	}
}
