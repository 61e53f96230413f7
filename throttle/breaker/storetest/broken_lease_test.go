package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker"
)

func leaseMutants() []mutant {
	return []mutant{
		{"lets nobody lead", []string{"lease/first candidate leads"}, shared(func(b *broken) {
			b.campaign = func(context.Context, breaker.Candidate) (breaker.Lease, error) {
				return breaker.Lease{Owner: "nobody", Term: 1}, nil
			}
		})},
		{"counts the remaining time in milliseconds", []string{"lease/first candidate leads", "lease/others see who leads"}, changedLease(func(_ breaker.Candidate, l *breaker.Lease) {
			l.Remaining /= 1_000_000
		})},
		{"lets two lead", []string{"lease/others see who leads", "election/one of many wins", "election/never two at once"}, changedLease(func(c breaker.Candidate, l *breaker.Lease) {
			l.Owner = c.Owner
		})},
		{"lengthens the lease of another", []string{"lease/losing changes nothing"}, shared(func(b *broken) {
			b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
				l, _ := b.MemoryStore.Campaign(ctx, c)
				return b.MemoryStore.Campaign(ctx, breaker.Candidate{Owner: l.Owner, TTL: c.TTL})
			}
		})},
		{"extends with another term", []string{"lease/extension keeps the term"}, shared(func(b *broken) {
			b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
				l, _ := b.MemoryStore.Campaign(ctx, c)
				if l.Owner == c.Owner {
					_ = b.MemoryStore.Resign(ctx, l)
				}
				return b.MemoryStore.Campaign(ctx, c)
			}
		})},
		{"does not extend", []string{"lease/extension keeps the term"}, shared(func(b *broken) {
			b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
				l, _ := b.MemoryStore.Campaign(ctx, breaker.Candidate{Owner: "\x00nobody", TTL: 0})
				if l.Owner == c.Owner && l.Remaining > 0 {
					return l, nil
				}
				return b.MemoryStore.Campaign(ctx, c)
			}
		})},
		{"never ends a lease", []string{"lease/ends after its TTL and not before"}, leaseTimes(10_000, 10_000)},
		{"ends a lease too early", []string{"lease/ends after its TTL and not before", "election/never two at once"}, leaseTimes(0.3, 0.3)},
		{"extends a lease that is over", []string{"lease/ended lease is not extended"}, extendsEnded()},
		{"does not resign", []string{"lease/resigning lets another lead", "election/terms rise"}, shared(func(b *broken) {
			b.resign = func(context.Context, breaker.Lease) error { return nil }
		})},
		{"resigns whatever the lease", []string{"lease/resigning an old lease does nothing", "lease/losing changes nothing"}, shared(func(b *broken) {
			b.resign = func(ctx context.Context, _ breaker.Lease) error {
				l, _ := b.MemoryStore.Campaign(ctx, breaker.Candidate{Owner: "?", TTL: 0})
				return b.MemoryStore.Resign(ctx, l)
			}
		})},
		{"compares owners without case and spaces", []string{"lease/owners are compared byte by byte"}, shared(func(b *broken) {
			b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
				owner := c.Owner
				c.Owner = strings.TrimSpace(strings.ToLower(owner))
				l, err := b.MemoryStore.Campaign(ctx, c)
				if l.Owner == c.Owner {
					l.Owner = owner
				}
				return l, err
			}
			b.resign = func(ctx context.Context, l breaker.Lease) error {
				l.Owner = strings.TrimSpace(strings.ToLower(l.Owner))
				return b.MemoryStore.Resign(ctx, l)
			}
		})},
		{"lets terms fall", []string{"election/terms rise", "election/one of many wins", "election/never two at once"}, renumbered(func(t uint64) uint64 { return 1<<62 - t })},
		{"counts terms from 1", []string{"election/terms rise after a loss of everything"}, countedTerms()},
	}
}

// changedLease changes what Campaign tells.
func changedLease(change func(breaker.Candidate, *breaker.Lease)) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			change(c, &l)
			return l, err
		}
	})
}

// leaseTimes makes leases last longer or shorter than they should, and tells of the remaining time as if they did not.
func leaseTimes(factor, told float64) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
			c.TTL = time.Duration(float64(c.TTL) * factor)
			l, err := b.MemoryStore.Campaign(ctx, c)
			l.Remaining = time.Duration(float64(l.Remaining) / told)
			return l, err
		}
	})
}

// renumbered changes the numbers of terms.
func renumbered(number func(uint64) uint64) func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			l.Term = number(l.Term)
			return l, err
		}
		b.resign = func(ctx context.Context, l breaker.Lease) error {
			l.Term = number(l.Term)
			return b.MemoryStore.Resign(ctx, l)
		}
	})
}

func countedTerms() func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		var terms []uint64
		b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			if len(terms) == 0 || terms[len(terms)-1] != l.Term {
				terms = append(terms, l.Term)
			}
			l.Term = uint64(len(terms))
			return l, err
		}
		b.resign = func(ctx context.Context, l breaker.Lease) error {
			l.Term = terms[l.Term-1]
			return b.MemoryStore.Resign(ctx, l)
		}
	})
}

func extendsEnded() func(*recorder) func() breaker.Store {
	return shared(func(b *broken) {
		var last breaker.Lease
		b.campaign = func(ctx context.Context, c breaker.Candidate) (breaker.Lease, error) {
			l, err := b.MemoryStore.Campaign(ctx, c)
			if l.Owner == last.Owner {
				l.Term = last.Term
			}
			last = l
			return l, err
		}
	})
}
