package storetest

import (
	"context"
	"strconv"
	"sync"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// fence keeps the terms of shards over a store that looks at none.
type fence struct {
	mu    sync.Mutex
	terms map[int]uint64
	place func(shard int) int          // where a shard's term is kept
	lower func(term, than uint64) bool // whether a term is stopped
	leave func(b store.Batch) bool     // whether an applied batch leaves its term
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

// comparing stops the terms that lower returns true for, and changes by hand never.
func comparing(lower func(term, than uint64) bool) opener {
	return fenced(func(f *fence) {
		f.lower = func(term, than uint64) bool { return term != 0 && lower(term, than) }
	})
}

func fenceFaults() []fault {
	const stops, numbers, byHand = "fence/stops lower terms", "fence/compares terms as numbers", "fence/lets changes by hand pass"
	return []fault{
		{"has no fence", []string{stops, "fence/is told before a conflict", "fence/stops a leader in full run", "fence/outlives all records"}, unfenced},
		{"keeps the fence in its handle", []string{stops, "fence/stops a leader in full run"}, each(func(b *broken, _ int) { guard(b, func(*fence) {}) })},
		{"tells a conflict before the fence", []string{"fence/is told before a conflict"}, applying(func(ctx context.Context, b *broken, batch store.Batch) (store.Version, error) {
			if batch.Expect != b.version(batch.Shard) {
				return store.Version{}, store.ErrConflict
			}
			return b.MemoryStore.Apply(ctx, batch)
		})},
		{"compares terms as texts", []string{numbers}, comparing(func(term, than uint64) bool {
			return strconv.FormatUint(term, 10) < strconv.FormatUint(than, 10)
		})},
		{"keeps 32 bits of a term", []string{numbers}, comparing(func(term, than uint64) bool { return uint32(term) < uint32(than) })},
		{"compares terms roughly", []string{numbers}, comparing(func(term, than uint64) bool { return float32(term) < float32(than) })},
		{"stops the same term", []string{stops}, comparing(func(term, than uint64) bool { return term <= than })},
		{"does not look at a batch without changes", []string{"fence/is left by a batch without changes"}, fenced(func(f *fence) {
			f.leave = func(b store.Batch) bool { return len(b.Changes) > 0 }
		})},
		{"stops changes by hand", []string{byHand}, fenced(func(f *fence) { f.lower = func(term, than uint64) bool { return term < than } })},
		{"lets changes by hand take down the fence", []string{byHand}, fenced(func(f *fence) {
			f.leave = func(b store.Batch) bool {
				if b.Term == 0 {
					f.terms[b.Shard] = 0
				}
				return true
			}
		})},
		{"takes down the fence of a shard without records", []string{"fence/outlives all records"}, fenced(func(f *fence) {
			f.leave = func(b store.Batch) bool {
				if len(b.Changes) == 1 && b.Changes[0].Data == nil {
					f.terms[b.Shard] = 0
					return false
				}
				return true
			}
		})},
		{"has one fence for all shards", []string{"fence/belongs to one shard"}, fenced(func(f *fence) { f.place = func(int) int { return 0 } })},
	}
}
