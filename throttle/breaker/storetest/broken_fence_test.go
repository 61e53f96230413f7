package storetest

import (
	"context"
	"strconv"
	"sync"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// fence is one that a test has built, over a store that has none.
type fence struct {
	mu    sync.Mutex
	terms map[int]uint64
	place func(shard int) int          // where a shard's term is kept
	lower func(term, than uint64) bool // whether a term is stopped
	leave func(b breaker.Batch) bool   // whether an applied batch leaves its term
}

func newFence() *fence {
	return &fence{
		terms: map[int]uint64{},
		place: func(shard int) int { return shard },
		lower: func(term, than uint64) bool { return term != 0 && term < than },
		leave: func(breaker.Batch) bool { return true },
	}
}

// guard puts the fence before a store.
func (f *fence) guard(b *broken) {
	b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		at := f.place(batch.Shard)
		if f.lower(batch.Term, f.terms[at]) {
			return breaker.Version{}, breaker.ErrFenced
		}
		unfenced := batch
		unfenced.Term = 0
		v, err := b.MemoryStore.Apply(ctx, unfenced)
		if err == nil && f.leave(batch) {
			f.terms[at] = max(f.terms[at], batch.Term)
		}
		return v, err
	}
}

func fenced(change func(*fence)) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		f := newFence()
		change(f)
		f.guard(b)
	})
}

func fenceMutants() []mutant {
	return []mutant{
		{"has no fence", []string{"fence/stops lower terms", "fence/is told before a conflict", "fence/stops a leader in full run", "fence/outlives all records"}, changedBatch(func(b *breaker.Batch) {
			b.Term = 0
		})},
		{"keeps the fence in its handle", []string{"fence/stops lower terms", "fence/stops a leader in full run"}, each(func(b *broken, _ int) { newFence().guard(b) })},
		{"tells a conflict before the fence", []string{"fence/is told before a conflict"}, shared(func(b *broken) {
			b.apply = func(ctx context.Context, batch breaker.Batch) (breaker.Version, error) {
				if batch.Expect != b.version(batch.Shard) {
					return breaker.Version{}, breaker.ErrConflict
				}
				return b.MemoryStore.Apply(ctx, batch)
			}
		})},
		{"compares terms as texts", []string{"fence/compares terms as numbers"}, fenced(func(f *fence) {
			f.lower = func(term, than uint64) bool {
				return term != 0 && strconv.FormatUint(term, 10) < strconv.FormatUint(than, 10)
			}
		})},
		{"keeps 32 bits of a term", []string{"fence/compares terms as numbers"}, fenced(func(f *fence) {
			f.lower = func(term, than uint64) bool { return term != 0 && uint32(term) < uint32(than) }
		})},
		{"compares terms roughly", []string{"fence/compares terms as numbers"}, fenced(func(f *fence) {
			f.lower = func(term, than uint64) bool { return term != 0 && float32(term) < float32(than) }
		})},
		{"stops the same term", []string{"fence/stops lower terms"}, fenced(func(f *fence) {
			f.lower = func(term, than uint64) bool { return term != 0 && term <= than }
		})},
		{"does not look at a batch without changes", []string{"fence/is left by a batch without changes"}, fenced(func(f *fence) {
			f.leave = func(b breaker.Batch) bool { return len(b.Changes) > 0 }
		})},
		{"stops changes by hand", []string{"fence/lets changes by hand pass"}, fenced(func(f *fence) {
			f.lower = func(term, than uint64) bool { return term < than }
		})},
		{"lets changes by hand take down the fence", []string{"fence/lets changes by hand pass"}, fenced(func(f *fence) {
			f.leave = func(b breaker.Batch) bool {
				if b.Term == 0 {
					f.terms[b.Shard] = 0
				}
				return true
			}
		})},
		{"takes down the fence of a shard without records", []string{"fence/outlives all records"}, fenced(func(f *fence) {
			f.leave = func(b breaker.Batch) bool {
				for _, c := range b.Changes {
					if c.Data == nil {
						f.terms[b.Shard] = 0
						return false
					}
				}
				return true
			}
		})},
		{"has one fence for all shards", []string{"fence/belongs to one shard"}, fenced(func(f *fence) { f.place = func(int) int { return 0 } })},
	}
}
