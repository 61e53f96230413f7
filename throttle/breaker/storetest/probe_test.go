package storetest

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// changedRequest changes the requests.
func changedRequest(change func(*store.ProbeRequest)) opener {
	return probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
		for i := range requests {
			change(&requests[i])
		}
		return b.MemoryStore.Probe(ctx, requests)
	})
}

// changedGrant changes the grants.
func changedGrant(change func(*store.ProbeRequest, *store.ProbeGrant)) opener {
	return probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
		grants, err := b.MemoryStore.Probe(ctx, requests)
		for i := range grants {
			change(&requests[i], &grants[i])
		}
		return grants, err
	})
}

func probeFaults() []fault {
	const more, budget, generations = "probe/more than the budget", "probe/budget changes at run time", "probe/each generation has its own budget"
	return []fault{
		{"grants before Since", []string{"probe/none before Since"}, changedRequest(func(q *store.ProbeRequest) {
			if time.Until(q.Since) > 0 {
				q.Since = time.Now()
			}
		})},
		{"returns Every as Remaining", []string{"probe/Remaining is the time to the next period"}, changedGrant(func(q *store.ProbeRequest, g *store.ProbeGrant) {
			g.Remaining = q.Every
		})},
		{"grants all or nothing", []string{more}, changedGrant(func(q *store.ProbeRequest, g *store.ProbeGrant) {
			if g.Granted < q.Want {
				g.Granted = 0
			}
		})},
		{"grants one if none is wanted", []string{"probe/none wanted"}, changedRequest(func(q *store.ProbeRequest) { q.Want = max(1, q.Want) })},
		{"counts anew when the budget changes", []string{budget}, changedRequest(func(q *store.ProbeRequest) { q.ID[20] ^= byte(q.Budget) })},
		{"has one budget for all generations", []string{generations}, changedRequest(func(q *store.ProbeRequest) { q.Generation = 1 })},
		{"keeps 32 bits of a generation", []string{generations}, changedRequest(func(q *store.ProbeRequest) { q.Generation = uint64(int32(q.Generation)) })},
		{"cuts record IDs", []string{"probe/each record has its own budget"}, changedRequest(func(q *store.ProbeRequest) { q.ID[31] = 0 })},
		{"answers in another order", []string{"probe/grants are in the order of 1,000 requests"}, probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
			slices.Reverse(requests)
			return b.MemoryStore.Probe(ctx, requests)
		})},
		{"answers 500 requests", []string{"probe/grants are in the order of 1,000 requests"}, probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
			return b.MemoryStore.Probe(ctx, requests[:min(len(requests), 500)])
		})},
		{"fails if there are no requests", []string{"probe/no requests"}, probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
			if len(requests) == 0 {
				return nil, errBroken
			}
			return b.MemoryStore.Probe(ctx, requests)
		})},
		{"counts the grants of a call after the call", []string{"probe/the same record twice in one call"}, probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
			seen := map[store.RecordID]bool{}
			for i := range requests {
				if seen[requests[i].ID] {
					requests[i].ID[20] ^= 0xff
				}
				seen[requests[i].ID] = true
			}
			return b.MemoryStore.Probe(ctx, requests)
		})},
		{"keeps probes among the records", []string{"probe/changes no shard"}, probing(func(ctx context.Context, b *broken, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
			shard := requests[0].ID.Shard()
			_, _ = b.MemoryStore.Apply(ctx, store.Batch{Shard: shard, Expect: b.version(shard), Changes: []store.Change{{Data: []byte("1")}}})
			return b.MemoryStore.Probe(ctx, requests)
		})},
	}
}

func budgetFaults() []fault {
	const exact, batches, back, more = "budget/is exact", "budget/is exact for calls in any order", "budget/renews every period", "probe/more than the budget"
	return []fault{
		{"grants one too many", []string{exact}, changedRequest(func(q *store.ProbeRequest) { q.Budget++ })},
		{"has a budget for each handle", []string{exact}, each(func(b *broken, handle int) {
			b.probe = func(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
				own := slices.Clone(requests)
				for i := range own {
					own[i].ID[20] ^= byte(handle)
				}
				return b.MemoryStore.Probe(ctx, own)
			}
		})},
		{"returns deadlocks", []string{batches}, shared(func(b *broken) {
			var busy atomic.Int32
			b.probe = func(ctx context.Context, requests []store.ProbeRequest) ([]store.ProbeGrant, error) {
				others := busy.Add(1) > 1
				yield()
				if busy.Add(-1); others && len(requests) > 1 {
					return nil, errBroken // deadlock detected
				}
				return b.MemoryStore.Probe(ctx, requests)
			}
		})},
		{"gives one budget only", []string{back}, changedRequest(func(q *store.ProbeRequest) { q.Every *= 1_000_000 })},
		{"remembers the last generation only", []string{"budget/survives requests of an older generation"}, remembersLast()},
	}
}

// remembersLast starts a new count if the generation differs from that of the last request.
func remembersLast() opener {
	last, changes := uint64(0), byte(0)
	return changedRequest(func(q *store.ProbeRequest) {
		if q.Generation != last {
			last = q.Generation
			changes++
		}
		q.ID[20] ^= changes
	})
}
