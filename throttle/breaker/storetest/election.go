package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func electionCases() []testCase {
	turn := []bid{campaigns("a"), resigns(1, ""), campaigns("a").by(1), resigns(1, "").by(1), campaigns("b").by(2), resigns(1, "").by(2)}
	return []testCase{
		{"one candidate wins", oneWins},
		{"never two leaders", neverTwo},
		{"terms rise", leaseCase(slices.Repeat(turn, 10)...)},
		{"terms rise after data loss", termsRiseAfterLoss},
	}
}

const candidates = 16

// oneWins runs concurrent campaigns, in several rounds. All candidates must get the same lease.
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
				r.Fatalf("round %d: candidate-%d got owner %q and term %d, candidate-0 got owner %q and term %d: want the same lease",
					round, i, l.Owner, l.Term, seen[0].Owner, seen[0].Term)
			}
		}
		if seen[0].Term <= last.Term {
			r.Fatalf("round %d: got term %d, want more than %d: a new lease has a higher term", round, seen[0].Term, last.Term)
		}
		last = seen[0]
		r.resign(stores[0], last)
	}
}

// tenure is a span of local time in which a lease was certainly current: from the answer until
// Remaining after the request.
type tenure struct {
	lease    store.Lease
	from, to time.Time
}

// leaseLog records the leases that candidates got.
type leaseLog struct {
	mu      sync.Mutex
	tenures map[uint64]tenure // by term
	newest  uint64
}

func (c *leaseLog) state() (newest uint64, leaders int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest, len(c.tenures)
}

// add records a lease and returns an error if it contradicts others. Its term must not be lower
// than a term that was returned before the request. A lease that was returned twice was current in
// between.
func (c *leaseLog) add(l store.Lease, newestBefore uint64, from, to time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.Term < newestBefore {
		return fmt.Errorf("got a lease of %q with term %d after term %d: terms must only rise", l.Owner, l.Term, newestBefore)
	}
	now, known := c.tenures[l.Term]
	if known && now.lease.Owner != l.Owner {
		return fmt.Errorf("term %d is a lease of %q and of %q: a new lease must have a higher term", l.Term, now.lease.Owner, l.Owner)
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
			return fmt.Errorf("%q leads with term %d while %q leads with term %d: want at most one leader",
				l.Owner, l.Term, other.lease.Owner, term)
		}
	}
	return nil
}

// neverTwo runs concurrent campaigns with short leases, until several leaders have followed each
// other.
func neverTwo(r *fixture) {
	const leaders = 5
	stores := r.Handles(4)
	c := &leaseLog{tenures: map[uint64]tenure{}}
	end := time.Now().Add(kit.Patience)
	r.Together(candidates, func(i int) error {
		for {
			newest, got := c.state()
			if got >= leaders {
				return nil
			}
			asked := time.Now()
			l, err := r.tryCampaign(stores[i%len(stores)], fmt.Sprintf("candidate-%d", i), short)
			if err != nil {
				return err
			}
			if err := c.add(l, newest, time.Now(), asked.Add(l.Remaining)); err != nil {
				return err
			}
			if time.Now().After(end) {
				return fmt.Errorf("got %d leases of %v within %v, want more: an ended lease must be replaced", got, short, kit.Patience)
			}
			if l.Owner == fmt.Sprintf("candidate-%d", i) {
				r.Pause(2 * short) // let it end
			}
			r.Pause(tolerance)
		}
	})
}

// termsRiseAfterLoss uses other, empty storage as a store that has lost its data. Managers with old
// terms must not outrank the new leader.
func termsRiseAfterLoss(r *fixture) {
	m := leaseModel{fixture: r}
	for range 10 {
		m.campaign(r.Store, "a", long)
		m.resign(r.Store, 1, "")
	}
	r.untilStoreTime(r.versions(r.Store).Now.Add(tolerance))
	if first := r.campaign(r.emptied(), "b", long); first.Term <= m.last().Term {
		r.Errorf("first term of empty storage: got %d, want more than %d, a term of storage that was created before: "+
			"terms must rise even if the store loses its data, so start from the store's clock", first.Term, m.last().Term)
	}
}
