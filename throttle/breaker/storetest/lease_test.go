package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// leaseFaults break leases and elections.
func leaseFaults() []fault {
	return []fault{
		{"has no leader", []string{"lease/first candidate leads"}, changedLease(func(_ store.Candidate, l *store.Lease) { l.Owner = "none" })},
		{"counts the remaining time in milliseconds", []string{"lease/first candidate leads"}, changedLease(func(_ store.Candidate, l *store.Lease) {
			l.Remaining /= 1_000_000
		})},
		{"lets two lead", []string{"lease/other candidates see the leader", "election/one candidate wins", "election/never two leaders"}, changedLease(func(c store.Candidate, l *store.Lease) {
			l.Owner = c.Owner
		})},
		{"lengthens the lease of another", []string{"lease/a lost election changes nothing"}, campaigning(func(ctx context.Context, b *broken, c store.Candidate) (store.Lease, error) {
			return b.MemoryStore.Campaign(ctx, store.Candidate{Owner: b.leader().Owner, TTL: c.TTL})
		})},
		{"extends with another term", []string{"lease/extension keeps the term"}, campaigning(func(ctx context.Context, b *broken, c store.Candidate) (store.Lease, error) {
			if l := b.leader(); l.Owner == c.Owner {
				_ = b.MemoryStore.Resign(ctx, l)
			}
			return b.MemoryStore.Campaign(ctx, c)
		})},
		{"does not extend", []string{"lease/extension keeps the term"}, campaigning(func(ctx context.Context, b *broken, c store.Candidate) (store.Lease, error) {
			if l := b.leader(); l.Owner == c.Owner && l.Remaining > 0 {
				return l, nil
			}
			return b.MemoryStore.Campaign(ctx, c)
		})},
		{"never ends a lease", []string{"lease/ends after its TTL and not before"}, leaseTimes(10_000)},
		{"ends a lease too early", []string{"lease/ends after its TTL and not before"}, leaseTimes(0.3)},
		{"extends a lease that is over", []string{"lease/ended lease is not extended"}, extendsEnded()},
		{"does not resign", []string{"lease/resigning lets another lead"}, shared(func(b *broken) {
			b.resign = func(context.Context, store.Lease) error { return nil }
		})},
		{"resigns whatever the lease", []string{"lease/resigning an old lease does nothing"}, shared(func(b *broken) {
			b.resign = func(ctx context.Context, _ store.Lease) error { return b.MemoryStore.Resign(ctx, b.leader()) }
		})},
		{"compares owners without case and spaces", []string{"lease/owners are compared byte by byte"}, campaigning(func(ctx context.Context, b *broken, c store.Candidate) (store.Lease, error) {
			folded := func(owner string) string { return strings.TrimSpace(strings.ToLower(owner)) }
			l, err := b.MemoryStore.Campaign(ctx, c)
			if folded(l.Owner) == folded(c.Owner) {
				l.Owner = c.Owner
			}
			return l, err
		})},
		{"lets terms fall", []string{"election/terms rise"}, renumbered(func(term uint64) uint64 { return 1<<62 - term })},
		{"counts terms from 1", []string{"election/terms rise after data loss"}, countedTerms()},
	}
}

// leader returns the current lease.
func (b *broken) leader() store.Lease {
	l, _ := b.MemoryStore.Campaign(context.Background(), store.Candidate{Owner: "\x00none"})
	return l
}

// changedLease changes what Campaign returns.
func changedLease(change func(store.Candidate, *store.Lease)) opener {
	return campaigning(func(ctx context.Context, b *broken, c store.Candidate) (store.Lease, error) {
		l, err := b.MemoryStore.Campaign(ctx, c)
		change(c, &l)
		return l, err
	})
}

// leaseTimes changes the length of leases. Remaining does not show it.
func leaseTimes(factor float64) opener {
	return campaigning(func(ctx context.Context, b *broken, c store.Candidate) (store.Lease, error) {
		c.TTL = time.Duration(float64(c.TTL) * factor)
		l, err := b.MemoryStore.Campaign(ctx, c)
		l.Remaining = time.Duration(float64(l.Remaining) / factor)
		return l, err
	})
}

// renumbered changes the numbers of terms. The func must be its own inverse.
func renumbered(number func(uint64) uint64) opener {
	return shared(func(b *broken) {
		b.campaign = func(ctx context.Context, c store.Candidate) (store.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			l.Term = number(l.Term)
			return l, err
		}
		b.resign = func(ctx context.Context, l store.Lease) error {
			l.Term = number(l.Term)
			return b.MemoryStore.Resign(ctx, l)
		}
	})
}

func countedTerms() opener {
	return shared(func(b *broken) {
		var terms []uint64
		b.campaign = func(ctx context.Context, c store.Candidate) (store.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			if len(terms) == 0 || terms[len(terms)-1] != l.Term {
				terms = append(terms, l.Term)
			}
			l.Term = uint64(len(terms))
			return l, err
		}
		b.resign = func(ctx context.Context, l store.Lease) error {
			l.Term = terms[l.Term-1]
			return b.MemoryStore.Resign(ctx, l)
		}
	})
}

func extendsEnded() opener {
	return shared(func(b *broken) {
		var last store.Lease
		b.campaign = func(ctx context.Context, c store.Candidate) (store.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			if l.Owner == last.Owner {
				l.Term = last.Term
			}
			last = l
			return l, err
		}
	})
}
