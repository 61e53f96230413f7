package storetest

import (
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// short is the TTL of a lease that ends during a case.
const short = 60 * time.Millisecond

func leaseCases() []testCase {
	a, b, c := campaigns("a"), campaigns("b"), campaigns("c")
	resigned, again := resigns(1, ""), resigns(2, "") // the newest lease, and the one before it
	return []testCase{
		{"first candidate leads", leaseCase(a)},
		{"other candidates see the leader", leaseCase(a, b, b.by(1))},
		{"a lost election changes nothing", leaseCase(a, b.lasting(3*long).by(1), c.lasting(time.Minute).by(2), resigns(1, "b"), c)},
		{"extension keeps the term", leaseCase(a, a.lasting(3*long), b.by(1), a.lasting(5*long).by(1), b.by(1), a, b.by(1),
			a.lasting(time.Minute).by(1), b.by(1))},
		{"ends after its TTL and not before", leaseEnds},
		{"ended lease is not extended", endedIsNotExtended},
		{"resigning lets another lead", leaseCase(a, resigned, b.by(1), resigned /* any handle can end a lease */, b.by(1), a)},
		{"resigning an old lease does nothing", leaseCase(a, resigned, resigned, a, again, b.by(1), resigns(1, "b").by(1), b.by(1),
			resigned, b.by(1), again, a)},
		{"owners are compared byte by byte", leaseCase(similarOwners()...)},
	}
}

// bid is a step of a case: a Campaign, or a Resign if there is no TTL.
type bid struct {
	owner  string
	ttl    time.Duration
	lease  int // of Resign: 1 is the newest lease, 2 the one before it
	handle int
}

func campaigns(owner string) bid { return bid{owner: owner, ttl: long} }

// resigns is a Resign of a lease, or of one with its term and another owner.
func resigns(lease int, owner string) bid { return bid{lease: lease, owner: owner} }

// lasting sets the TTL.
func (b bid) lasting(ttl time.Duration) bid {
	b.ttl = ttl
	return b
}

// by makes the bid with another handle.
func (b bid) by(handle int) bid {
	b.handle = handle
	return b
}

// leaseCase returns a case that makes bids. A leaseModel checks all answers.
func leaseCase(script ...bid) func(*fixture) {
	return func(r *fixture) {
		r.Helper()
		m, handles := leaseModel{fixture: r}, append([]store.Store{r.Store}, r.Handles(2)...)
		for _, b := range script {
			if b.ttl > 0 {
				m.campaign(handles[b.handle], b.owner, b.ttl)
			} else {
				m.resign(handles[b.handle], b.lease, b.owner)
			}
		}
	}
}

// leaseModel is what a store must have of its leases, which do not end during the case.
type leaseModel struct {
	*fixture

	leases []store.Lease // the newest is the last
	held   bool          // whether the last one is current
	begun  time.Time     // before the call that began or extended it
	ttl    time.Duration // given by that call
}

// campaign calls Campaign, and expects the answer that the rules of [store.Store] demand.
func (m *leaseModel) campaign(s store.Store, owner string, ttl time.Duration) store.Lease {
	m.Helper()
	begun, last := time.Now(), m.last()
	got := m.fixture.campaign(s, owner, ttl)
	switch {
	case !m.held && got.Owner != owner:
		m.Fatalf("Campaign of %q: got owner %q, want %q: there is no leader", owner, got.Owner, owner)
	case !m.held && got.Term <= last.Term:
		m.Fatalf("Campaign of %q: got term %d, want more than %d: a new lease has a higher term", owner, got.Term, last.Term)
	case !m.held:
		m.leases, m.held = append(m.leases, got), true
	case got.Owner != last.Owner || got.Term != last.Term:
		m.Fatalf("Campaign of %q while %q leads with term %d: got owner %q, term %d, want those of the leader",
			owner, last.Owner, last.Term, got.Owner, got.Term)
	}
	if got.Owner == owner {
		m.begun, m.ttl = begun, ttl
	}
	m.expectBetween("Remaining of the lease of "+got.Owner+", returned to "+owner, got.Remaining,
		m.ttl-time.Since(m.begun)-longTolerance, m.ttl+tolerance)
	return got
}

// resign ends the current lease if that is the one it names, and the owner is its own or none.
func (m *leaseModel) resign(s store.Store, lease int, owner string) {
	m.Helper()
	l := m.leases[len(m.leases)-lease]
	if owner != "" {
		l.Owner = owner
	}
	m.fixture.resign(s, l)
	m.held = m.held && (lease > 1 || l.Owner != m.last().Owner)
}

// last returns the newest lease.
func (m *leaseModel) last() store.Lease {
	return slices.Concat([]store.Lease{{}}, m.leases)[len(m.leases)]
}

// leaseEnds measures the time from before the lease began until after the next one began. That is
// longer than the lease, even on a slow machine.
func leaseEnds(r *fixture) {
	other, begin := r.Handle(), time.Now()
	a := r.campaign(r.Store, "a", short)
	if a.Owner != "a" || a.Remaining == 0 && time.Since(begin) < short {
		r.Fatalf("Campaign of a for %v: got owner %q and %v remaining, want a new lease of a", short, a.Owner, a.Remaining)
	}
	var b store.Lease
	r.until("b does not lead, although a's lease of "+short.String()+" must have ended", func() bool {
		b = r.campaign(other, "b", long)
		if b.Owner == "a" && b.Term != a.Term {
			r.Fatalf("Campaign of b: got a's lease with term %d, want term %d: only a can begin a new lease of a", b.Term, a.Term)
		}
		return b.Owner == "b"
	})
	if lasted := time.Since(begin); lasted < short-tolerance {
		r.Errorf("b leads %v after a got a lease of %v, want a lease to last for its TTL", lasted, short)
	}
	if b.Term <= a.Term {
		r.Errorf("Campaign of b after a's lease ended: got term %d, want more than %d: a new lease has a higher term", b.Term, a.Term)
	}
	if l := r.campaign(r.Store, "a", long); l.Owner != "b" || l.Term != b.Term {
		r.Errorf("Campaign of a, whose lease has ended: got owner %q, term %d, want b and %d", l.Owner, l.Term, b.Term)
	}
}

func endedIsNotExtended(r *fixture) {
	a := r.campaign(r.Store, "a", short)
	r.untilStoreTime(r.versions(r.Store).Now.Add(2 * short))
	if again := r.campaign(r.Store, "a", long); again.Owner != "a" || again.Term <= a.Term {
		r.Errorf("Campaign of a after its lease ended: got owner %q and term %d, want a and more than %d: another manager may have led since",
			again.Owner, again.Term, a.Term)
	}
}

// similarOwners are bids of owners that some databases consider equal.
func similarOwners() []bid {
	var script []bid
	for _, pair := range [][2]string{
		{"agent", "Agent"},
		{"agent", "agent "},
		{"agent", "ägent"},
		{"agent-1", "agent-10"},
		{"7", "7.0"},
		{"host-1:42/é \"quoted\" 'single' \\ %s {世界}", "host-1:42"},
	} {
		script = append(script, campaigns(pair[0]), campaigns(pair[1]), campaigns(pair[0]), resigns(1, ""))
	}
	return script
}
