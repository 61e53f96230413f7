package storetest

import (
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
)

// brief is the life of a lease that a case waits for the end of.
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

// expectLease wants a lease of that owner and term.
func (r *fixture) expectLease(what string, got store.Lease, owner string, term uint64) {
	r.Helper()
	if got.Owner != owner || got.Term != term {
		r.Errorf("%s: got owner %q, term %d, want owner %q, term %d", what, got.Owner, got.Term, owner, term)
	}
}

// wins campaigns and wants to lead, with a term above the one before.
func (r *fixture) lead(s store.Store, owner string, ttl time.Duration, above uint64, why string) store.Lease {
	r.Helper()
	l := r.campaign(s, owner, ttl)
	if l.Owner != owner {
		r.Fatalf("Campaign of %q: got owner %q, want %q to lead: %s", owner, l.Owner, owner, why)
	}
	if l.Term <= above {
		r.Errorf("Campaign of %q: got term %d, want more than %d: every new lease has a higher term", owner, l.Term, above)
	}
	return l
}

func firstLeads(r *fixture) {
	l := r.lead(r.Store, "a", long, 0, "nobody led")
	r.expectBetween("Remaining of a new lease", l.Remaining, long-longTolerance, long+tolerance)
}

func othersSee(r *fixture) {
	begin := time.Now()
	a := r.lead(r.Store, "a", long, 0, "nobody led")
	for _, s := range []store.Store{r.Store, r.Handle()} {
		b := r.campaign(s, "b", long)
		r.expectLease("Campaign of b while a leads", b, "a", a.Term)
		r.expectBetween("Remaining of a's lease as b sees it", b.Remaining, long-time.Since(begin)-longTolerance, a.Remaining+tolerance)
	}
}

func losingChangesNothing(r *fixture) {
	begin := time.Now()
	a := r.lead(r.Store, "a", long, 0, "nobody led")
	r.campaign(r.Handle(), "b", 3*long)
	c := r.campaign(r.Handle(), "c", time.Minute)
	r.expectLease("Campaign of c after b's attempt", c, "a", a.Term)
	r.expectBetween("Remaining of a's lease, after b tried with a longer TTL and c with a shorter one", c.Remaining, long-time.Since(begin)-longTolerance, long+tolerance)
	r.resign(r.Store, store.Lease{Owner: "b", Term: a.Term})
	r.expectLease("Campaign of c after b, who does not lead, resigned", r.campaign(r.Store, "c", long), "a", a.Term)
}

func extensionKeepsTerm(r *fixture) {
	other := r.Handle()
	a := r.lead(r.Store, "a", long, 0, "nobody led")
	for _, tt := range []struct {
		store store.Store
		ttl   time.Duration
	}{{r.Store, 3 * long}, {other, 5 * long}, {r.Store, long}, {other, time.Minute}} {
		l := r.campaign(tt.store, "a", tt.ttl)
		r.expectLease("Campaign of a, who leads", l, "a", a.Term)
		r.expectBetween("Remaining of a lease extended to "+tt.ttl.String(), l.Remaining, tt.ttl-longTolerance, tt.ttl+tolerance)
		seen := r.campaign(other, "b", long)
		r.expectLease("Campaign of b while a leads", seen, "a", a.Term)
		r.expectBetween("Remaining as b sees it, of a lease extended to "+tt.ttl.String(), seen.Remaining, tt.ttl-2*longTolerance, tt.ttl+tolerance)
	}
}

// leaseEnds measures from before the lease was given until after another one was: that is longer than the lease, however slow the machine is.
func leaseEnds(r *fixture) {
	other := r.Handle()
	begin := time.Now()
	a := r.lead(r.Store, "a", short, 0, "nobody led")
	least := time.Duration(1)
	if time.Since(begin) >= short { // it may be over already
		least = 0
	}
	r.expectBetween("Remaining of a brief lease", a.Remaining, least, short+tolerance)
	var b store.Lease
	r.until("b could not lead although a's lease of "+short.String()+" must be over", func() bool {
		b = r.campaign(other, "b", long)
		if b.Owner == "a" && b.Term != a.Term {
			r.Fatalf("Campaign of b: got a's lease with term %d, want term %d: only a itself can begin a new lease of a", b.Term, a.Term)
		}
		return b.Owner == "b"
	})
	if lasted := time.Since(begin); lasted < short-tolerance {
		r.Errorf("b leads %v after a won a lease of %v: a lease must last for its TTL", lasted, short)
	}
	if b.Term <= a.Term {
		r.Errorf("b follows a: got term %d, want more than %d: every new lease has a higher term", b.Term, a.Term)
	}
	r.expectLease("Campaign of a, whose lease is over", r.campaign(r.Store, "a", long), "b", b.Term)
}

func endedIsNotExtended(r *fixture) {
	a := r.lead(r.Store, "a", short, 0, "nobody led")
	r.untilStoreTime(r.versions(r.Store).Now.Add(2 * short))
	again := r.lead(r.Store, "a", long, 0, "its lease was over and nobody else led")
	if again.Term <= a.Term {
		r.Errorf("Campaign of a after its lease was over: got term %d, want more than %d: another leader may have come and gone", again.Term, a.Term)
	}
}

func resigningLets(r *fixture) {
	other := r.Handle()
	a := r.lead(r.Store, "a", long, 0, "nobody led")
	r.resign(r.Store, a)
	b := r.lead(other, "b", long, a.Term, "a has resigned")
	r.resign(r.Store, b) // any handle can: it is the lease that counts
	again := r.lead(other, "b", long, b.Term, "b has resigned, and may campaign again")
	r.expectLease("Campaign of a", r.campaign(r.Store, "a", long), "b", again.Term)
}

func resigningOld(r *fixture) {
	other := r.Handle()
	first := r.lead(r.Store, "a", long, 0, "nobody led")
	r.resign(r.Store, first)
	r.resign(r.Store, first) // twice is fine
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

// ownersCompared has pairs that some databases take for equal.
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
		l := r.lead(r.Store, pair[0], long, term, "nobody led")
		r.expectLease("Campaign of "+pair[1]+" while "+pair[0]+" leads", r.campaign(r.Store, pair[1], long), pair[0], l.Term)
		r.expectLease("Campaign of "+pair[0]+", who leads", r.campaign(r.Store, pair[0], long), pair[0], l.Term)
		r.resign(r.Store, l)
		term = l.Term
	}
}
