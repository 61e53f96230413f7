package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func electionCases() []testCase {
	return []testCase{
		{"one candidate wins", oneWins},
		{"never two leaders", neverTwo},
		{"terms rise", termsRise},
		{"terms rise after data loss", termsRiseAfterLoss},
	}
}

const candidates = 16

// oneWins lets all campaign at once, again and again: whatever the order, all must be told of the same lease.
func oneWins(r *fixture) {
	const rounds = 20
	stores := r.Handles(4)
	var last store.Lease
	for round := range rounds {
		seen := make([]store.Lease, candidates)
		r.Together(candidates, func(i int) (err error) {
			seen[i], err = r.tryCampaign(stores[i%len(stores)], fmt.Sprintf("candidate-%d", i), long)
			return err
		})
		for i, l := range seen {
			if l.Owner != seen[0].Owner || l.Term != seen[0].Term {
				r.Fatalf("round %d: candidate-%d was told that %q leads with term %d, candidate-0 that %q does with term %d: want one leader",
					round, i, l.Owner, l.Term, seen[0].Owner, seen[0].Term)
			}
		}
		if seen[0].Term <= last.Term {
			r.Fatalf("round %d: got term %d, want more than %d: every new lease has a higher term", round, seen[0].Term, last.Term)
		}
		last = seen[0]
		r.resign(stores[0], last)
	}
}

// reign is a time on the local clock in which a lease held for certain: from after the answer until the remaining time after the question.
type tenure struct {
	lease    store.Lease
	from, to time.Time
}

// chronicle is what candidates have seen.
type leaseLog struct {
	mu      sync.Mutex
	tenures map[uint64]tenure // by term
	newest  uint64
}

// newestTerm is the highest term that anybody has seen by now.
func (c *leaseLog) newestTerm() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest
}

// add notes what a candidate was told and returns what contradicts it. A term that somebody saw before the question was asked is in the
// past of the answer. A lease that was seen twice held in between.
func (c *leaseLog) add(l store.Lease, newestBefore uint64, from, to time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Term < newestBefore {
		return fmt.Errorf("a lease of %q has term %d after term %d was seen: terms must only rise", l.Owner, l.Term, newestBefore)
	}
	now, known := c.tenures[l.Term]
	if known && now.lease.Owner != l.Owner {
		return fmt.Errorf("term %d is a lease of %q and of %q: every new lease must have a higher term", l.Term, now.lease.Owner, l.Owner)
	}
	if !known {
		now = tenure{l, from, to}
	}
	if to.After(now.to) {
		now.to = to
	}
	c.tenures[l.Term], c.newest = now, max(c.newest, l.Term)
	for term, other := range c.tenures {
		if term != l.Term && now.from.Add(tolerance).Before(other.to) && other.from.Add(tolerance).Before(now.to) {
			return fmt.Errorf("%q leads with term %d while %q leads with term %d: want one leader at any instant",
				l.Owner, l.Term, other.lease.Owner, term)
		}
	}
	return nil
}

// neverTwo lets leases end and others follow, until there were a few leaders.
func neverTwo(r *fixture) {
	const leaders = 8
	stores := r.Handles(4)
	c := &leaseLog{tenures: map[uint64]tenure{}}
	end := time.Now().Add(kit.Patience)
	r.Together(candidates, func(i int) error {
		for {
			newest, asked := c.newestTerm(), time.Now()
			l, err := r.tryCampaign(stores[i%len(stores)], fmt.Sprintf("candidate-%d", i), short)
			if err != nil {
				return err
			}
			if err := c.add(l, newest, time.Now(), asked.Add(l.Remaining)); err != nil {
				return err
			}
			if c.leaders() >= leaders {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("only %d leases of %v followed each other in %v", c.leaders(), short, kit.Patience)
			}
			if l.Owner == fmt.Sprintf("candidate-%d", i) {
				r.Pause(2 * short) // let it end
			}
			r.Pause(tolerance)
		}
	})
}

func (c *leaseLog) leaders() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tenures)
}

func termsRise(r *fixture) {
	stores := append(r.Handles(2), r.Store)
	var term uint64
	for i := range 30 {
		s := stores[i%len(stores)]
		l := r.lead(s, []string{"a", "b"}[i/2%2], long, term, "the leader has resigned")
		r.resign(s, l)
		term = l.Term
	}
}

// termsRiseAfterLoss takes other storage for the same one after it has lost everything. Agents that know of the old terms must not
// outrank the new leader.
func termsRiseAfterLoss(r *fixture) {
	var l store.Lease
	for range 10 {
		l = r.lead(r.Store, "a", long, l.Term, "nobody led")
		r.resign(r.Store, l)
	}
	r.untilStoreTime(r.versions(r.Store).Now.Add(tolerance))
	first := r.campaign(r.emptied(), "b", long)
	if first.Term <= l.Term {
		r.Errorf("first term of an empty storage: got %d, want more than %d, the last one of a storage that was made before: "+
			"terms must rise also if the store loses everything, so begin with the store's clock", first.Term, l.Term)
	}
}
