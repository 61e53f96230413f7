package storetest

import (
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// short is the TTL of a lease that ends during a case.
const short = 60 * time.Millisecond

func leaseCases() []testCase {
	return []testCase{
		{"first candidate leads", firstLeads},
		{"other candidates see the leader", othersSee},
		{"a lost election changes nothing", losingChangesNothing},
		{"extension keeps the term", extensionKeepsTerm},
		{"ends after its TTL and not before", leaseEnds},
		{"ended lease is not extended", endedIsNotExtended},
		{"resigning lets another lead", resigningLets},
		{"resigning an old lease does nothing", resigningOld},
		{"owners are compared byte by byte", ownersCompared},
	}
}

func (r *fixture) expectLease(what string, got store.Lease, owner string, term uint64) {
	r.Helper()
	if got.Owner != owner || got.Term != term {
		r.Errorf("%s: got owner %q, term %d, want owner %q, term %d", what, got.Owner, got.Term, owner, term)
	}
}

// lead calls Campaign and expects the owner to lead, with a higher term than the last.
func (r *fixture) lead(s store.Store, owner string, ttl time.Duration, above uint64, why string) store.Lease {
	r.Helper()
	l := r.campaign(s, owner, ttl)
	if l.Owner != owner {
		r.Fatalf("Campaign of %q: got owner %q, want %q: %s", owner, l.Owner, owner, why)
	}
	if l.Term <= above {
		r.Errorf("Campaign of %q: got term %d, want more than %d: a new lease has a higher term", owner, l.Term, above)
	}
	return l
}

func firstLeads(r *fixture) {
	l := r.lead(r.Store, "a", long, 0, "there is no leader")
	r.expectBetween("Remaining of a new lease", l.Remaining, long-longTolerance, long+tolerance)
}

func othersSee(r *fixture) {
	begin := time.Now()
	a := r.lead(r.Store, "a", long, 0, "there is no leader")
	for _, s := range []store.Store{r.Store, r.Handle()} {
		b := r.campaign(s, "b", long)
		r.expectLease("Campaign of b while a leads", b, "a", a.Term)
		r.expectBetween("Remaining of a's lease, returned to b", b.Remaining, long-time.Since(begin)-longTolerance, a.Remaining+tolerance)
	}
}

func losingChangesNothing(r *fixture) {
	begin := time.Now()
	a := r.lead(r.Store, "a", long, 0, "there is no leader")
	r.campaign(r.Handle(), "b", 3*long)
	c := r.campaign(r.Handle(), "c", time.Minute)
	r.expectLease("Campaign of c after b campaigned while a leads", c, "a", a.Term)
	r.expectBetween("Remaining of a's lease, after b campaigned with a longer TTL and c with a shorter one", c.Remaining, long-time.Since(begin)-longTolerance, long+tolerance)
	r.resign(r.Store, store.Lease{Owner: "b", Term: a.Term})
	r.expectLease("Campaign of c after b resigned, which does not lead", r.campaign(r.Store, "c", long), "a", a.Term)
}

func extensionKeepsTerm(r *fixture) {
	other := r.Handle()
	a := r.lead(r.Store, "a", long, 0, "there is no leader")
	for _, tt := range []struct {
		store store.Store
		ttl   time.Duration
	}{{r.Store, 3 * long}, {other, 5 * long}, {r.Store, long}, {other, time.Minute}} {
		l := r.campaign(tt.store, "a", tt.ttl)
		r.expectLease("Campaign of a, which leads", l, "a", a.Term)
		r.expectBetween("Remaining of a lease extended to "+tt.ttl.String(), l.Remaining, tt.ttl-longTolerance, tt.ttl+tolerance)
		seen := r.campaign(other, "b", long)
		r.expectLease("Campaign of b while a leads", seen, "a", a.Term)
		r.expectBetween("Remaining returned to b, of a lease extended to "+tt.ttl.String(), seen.Remaining, tt.ttl-2*longTolerance, tt.ttl+tolerance)
	}
}

// leaseEnds measures the time from before the lease began until after the next one began. That is
// longer than the lease, even on a slow machine.
func leaseEnds(r *fixture) {
	other := r.Handle()
	begin := time.Now()
	a := r.lead(r.Store, "a", short, 0, "there is no leader")
	least := time.Duration(1)
	if time.Since(begin) >= short { // it may have ended
		least = 0
	}
	r.expectBetween("Remaining of a short lease", a.Remaining, least, short+tolerance)
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
	r.expectLease("Campaign of a, whose lease has ended", r.campaign(r.Store, "a", long), "b", b.Term)
}

func endedIsNotExtended(r *fixture) {
	a := r.lead(r.Store, "a", short, 0, "there is no leader")
	r.untilStoreTime(r.versions(r.Store).Now.Add(2 * short))
	again := r.lead(r.Store, "a", long, 0, "its lease has ended and there is no leader")
	if again.Term <= a.Term {
		r.Errorf("Campaign of a after its lease ended: got term %d, want more than %d: another manager may have led since", again.Term, a.Term)
	}
}

func resigningLets(r *fixture) {
	other := r.Handle()
	a := r.lead(r.Store, "a", long, 0, "there is no leader")
	r.resign(r.Store, a)
	b := r.lead(other, "b", long, a.Term, "a has resigned")
	r.resign(r.Store, b) // any handle can end a lease
	again := r.lead(other, "b", long, b.Term, "b has resigned, and may campaign again")
	r.expectLease("Campaign of a", r.campaign(r.Store, "a", long), "b", again.Term)
}

func resigningOld(r *fixture) {
	other := r.Handle()
	first := r.lead(r.Store, "a", long, 0, "there is no leader")
	r.resign(r.Store, first)
	r.resign(r.Store, first) // must do nothing
	second := r.lead(r.Store, "a", long, first.Term, "a has resigned")
	r.resign(r.Store, first)
	r.expectLease("Campaign of b after a resigned its first lease again", r.campaign(other, "b", long), "a", second.Term)
	r.resign(other, store.Lease{Owner: "b", Term: second.Term})
	r.expectLease("Campaign of b after b resigned a's lease", r.campaign(other, "b", long), "a", second.Term)
	r.resign(r.Store, second)
	third := r.lead(other, "b", long, second.Term, "a has resigned")
	r.resign(r.Store, second)
	r.expectLease("Campaign of a after it resigned when b led", r.campaign(r.Store, "a", long), "b", third.Term)
}

// ownersCompared uses pairs of owners that some databases consider equal.
func ownersCompared(r *fixture) {
	var term uint64
	for _, pair := range [][2]string{
		{"agent", "Agent"},
		{"agent", "agent "},
		{"agent", "ägent"},
		{"agent-1", "agent-10"},
		{"7", "7.0"},
		{"host-1:42/é \"quoted\" 'single' \\ %s {世界}", "host-1:42"},
	} {
		l := r.lead(r.Store, pair[0], long, term, "there is no leader")
		r.expectLease("Campaign of "+pair[1]+" while "+pair[0]+" leads", r.campaign(r.Store, pair[1], long), pair[0], l.Term)
		r.expectLease("Campaign of "+pair[0]+", which leads", r.campaign(r.Store, pair[0], long), pair[0], l.Term)
		r.resign(r.Store, l)
		term = l.Term
	}
}
