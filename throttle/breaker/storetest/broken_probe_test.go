package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

// changedRequest changes what the store is asked for.
func changedRequest(change func(*breaker.ProbeRequest)) func(*recorder) func() breaker.Store {
	return changedProbe(func(requests []breaker.ProbeRequest) {
		for i := range requests {
			change(&requests[i])
		}
	}, func([]breaker.ProbeRequest, []breaker.ProbeGrant) {})
}

// changedProbe changes what the store is asked for, and what it answers.
func changedProbe(ask func([]breaker.ProbeRequest), answer func([]breaker.ProbeRequest, []breaker.ProbeGrant)) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
			changed := slices.Clone(requests)
			ask(changed)
			grants, err := b.MemoryStore.Probe(ctx, changed)
			answer(requests, grants)
			return grants, err
		}
	})
}

func changedGrants(answer func([]breaker.ProbeRequest, []breaker.ProbeGrant)) func(*recorder) func() breaker.Store {
	return changedProbe(func([]breaker.ProbeRequest) {}, answer)
}

func probeMutants() []mutant {
	return []mutant{
		{"grants before the time", []string{"probe/before its time is granted none"}, changedRequest(func(q *breaker.ProbeRequest) {
			if time.Until(q.Since) > 0 {
				q.Since = time.Now()
			}
		})},
		{"tells the whole time until the next budget", []string{"probe/tells when the next budget begins"}, changedGrants(func(q []breaker.ProbeRequest, g []breaker.ProbeGrant) {
			for i := range g {
				g[i].Remaining = q[i].Every
			}
		})},
		{"tells no time when nothing is left", []string{"probe/wants more than the budget"}, changedGrants(func(_ []breaker.ProbeRequest, g []breaker.ProbeGrant) {
			for i := range g {
				if g[i].Granted == 0 {
					g[i].Remaining = 0
				}
			}
		})},
		{"grants all or nothing", []string{"probe/wants more than the budget", "probe/budget changes at run time"}, changedGrants(func(q []breaker.ProbeRequest, g []breaker.ProbeGrant) {
			for i := range g {
				if g[i].Granted < q[i].Want {
					g[i].Granted = 0
				}
			}
		})},
		{"grants one to those who want none", []string{"probe/wants none"}, changedRequest(func(q *breaker.ProbeRequest) { q.Want = max(1, q.Want) })},
		{"counts anew when the budget changes", []string{"probe/budget changes at run time"}, changedRequest(func(q *breaker.ProbeRequest) { q.ID[20] ^= byte(q.Budget) })},
		{"has one budget for all generations", []string{"probe/generations have budgets of their own"}, changedRequest(func(q *breaker.ProbeRequest) { q.Generation = 1 })},
		{"keeps 32 bits of a generation", []string{"probe/generations have budgets of their own"}, changedRequest(func(q *breaker.ProbeRequest) { q.Generation = uint64(int32(q.Generation)) })},
		{"cuts names", []string{"probe/records have budgets of their own"}, changedRequest(func(q *breaker.ProbeRequest) { q.ID[31] = 0 })},
		{"answers in another order", []string{"probe/grants are in the order of requests", "probe/1,000 requests"}, changedGrants(func(_ []breaker.ProbeRequest, g []breaker.ProbeGrant) {
			slices.Reverse(g)
		})},
		{"answers 500 requests", []string{"probe/1,000 requests"}, shared(func(b *broken) {
			b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
				return b.MemoryStore.Probe(ctx, requests[:min(len(requests), 500)])
			}
		})},
		{"cannot be asked for nothing", []string{"probe/no requests"}, shared(func(b *broken) {
			b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
				if len(requests) == 0 {
					return nil, errors.New("syntax error at end of input")
				}
				return b.MemoryStore.Probe(ctx, requests)
			}
		})},
		{"counts a batch when it is answered", []string{"probe/the same record twice in one batch"}, changedProbe(func(requests []breaker.ProbeRequest) {
			seen := map[breaker.RecordID]bool{}
			for i := range requests {
				if seen[requests[i].ID] {
					requests[i].ID[20] ^= 0xff
				}
				seen[requests[i].ID] = true
			}
		}, func([]breaker.ProbeRequest, []breaker.ProbeGrant) {})},
		{"keeps probes among the records", []string{"probe/changes no shard"}, shared(func(b *broken) {
			b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
				shard := requests[0].ID.Shard()
				change := []breaker.Change{{ID: breaker.RecordID{}, Data: []byte("1")}}
				_, _ = b.MemoryStore.Apply(ctx, breaker.Batch{Shard: shard, Expect: b.version(shard), Changes: change})
				return b.MemoryStore.Probe(ctx, requests)
			}
		})},
	}
}

func budgetMutants() []mutant {
	const exact, batches, back = "budget/is exact", "budget/is exact in batches of any order", "budget/comes back with the next period"
	return []mutant{
		{"grants one too many", []string{exact, batches, back, "probe/wants more than the budget"}, changedRequest(func(q *breaker.ProbeRequest) { q.Budget++ })},
		{"grants one too few", []string{exact, batches, "probe/wants more than the budget"}, changedRequest(func(q *breaker.ProbeRequest) { q.Budget-- })},
		{"has a budget for each handle", []string{exact, batches, back}, each(func(b *broken, handle int) {
			b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
				own := slices.Clone(requests)
				for i := range own {
					own[i].ID[20] ^= byte(handle)
				}
				return b.MemoryStore.Probe(ctx, own)
			}
		})},
		{"makes deadlocks", []string{batches}, shared(func(b *broken) {
			var mu sync.Mutex
			busy := 0
			b.probe = func(ctx context.Context, requests []breaker.ProbeRequest) ([]breaker.ProbeGrant, error) {
				mu.Lock()
				busy++
				others := busy - 1
				mu.Unlock()
				moment()
				mu.Lock()
				defer mu.Unlock()
				if busy--; others > 0 && len(requests) > 1 {
					return nil, errors.New("deadlock detected")
				}
				return b.MemoryStore.Probe(ctx, requests)
			}
		})},
		{"gives one budget only", []string{back}, changedRequest(func(q *breaker.ProbeRequest) { q.Every *= 1_000_000 })},
		{"gives three budgets in the time of one", []string{back}, changedProbe(func(requests []breaker.ProbeRequest) {
			for i := range requests {
				requests[i].Every /= 3
			}
		}, func(q []breaker.ProbeRequest, g []breaker.ProbeGrant) {
			for i := range g {
				g[i].Remaining = q[i].Every - time.Since(q[i].Since)%q[i].Every
			}
		})},
		{"remembers the last generation only", []string{"budget/outlives an old generation"}, remembersLast()},
	}
}

// remembersLast begins to count anew whenever the generation is not that of the request before.
func remembersLast() func(*recorder) func() breaker.Store {
	last, changes := uint64(0), byte(0)
	return changedRequest(func(q *breaker.ProbeRequest) {
		if q.Generation != last {
			last = q.Generation
			changes++
		}
		q.ID[20] ^= changes
	})
}
