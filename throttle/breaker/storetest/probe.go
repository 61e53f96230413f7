package storetest

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func probeCases() []testCase {
	return []testCase{
		{"none before Since", probeBeforeTime},
		{"Remaining is the time to the next period", probeRemaining},
		{"more than the budget", probeWantsMore},
		{"none wanted", probeWantsNone},
		{"budget changes at run time", probeBudgetChanges},
		{"each generation has its own budget", probeGenerations},
		{"each record has its own budget", probeRecords},
		{"grants are in the order of requests", probeOrder},
		{"1,000 requests", probeMany},
		{"no requests", probeNone},
		{"the same record twice in one call", probeTwice},
		{"changes no shard", probeChangesNoShard},
	}
}

// checkGrants expects one grant per request, between 0 and both Want and Budget.
func checkGrants(requests []store.ProbeRequest, grants []store.ProbeGrant) error {
	if len(grants) != len(requests) {
		return kit.Breach("got %[2]d grants for %[1]d requests, want one per request", len(requests), len(grants))
	}
	for i, g := range grants {
		if q := requests[i]; g.Granted < 0 || g.Granted > max(0, q.Want) || g.Granted > max(0, q.Budget) {
			return kit.Breach("request %d with Budget %d and Want %d: got %d granted, want at most the smaller one", i, q.Budget, q.Want, g.Granted)
		}
	}
	return nil
}

// halfOpen returns a request for one probe of a circuit that has been half-open for a minute.
func (r *fixture) halfOpen(n int) store.ProbeRequest {
	r.Helper()
	since := r.versions(r.Store).Now.Add(-time.Minute).Truncate(time.Microsecond)
	return store.ProbeRequest{ID: idIn(n%store.NumShards, n), Generation: 1, Since: since, Every: long, Budget: 10, Want: 1}
}

// expectGranted makes a request and expects this number of probes.
func (r *fixture) expectGranted(what string, s store.Store, q store.ProbeRequest, want int) store.ProbeGrant {
	r.Helper()
	g := r.probe(s, q)
	if g.Granted != want {
		r.Errorf("%s: Probe with Budget %d and Want %d: got %d granted, want %d", what, q.Budget, q.Want, g.Granted, want)
	}
	return g
}

func probeBeforeTime(r *fixture) {
	q := r.halfOpen(1)
	begin := time.Now()
	q.Since = q.Since.Add(time.Minute + long)
	for _, s := range []store.Store{r.Store, r.Handle()} {
		g := r.expectGranted("half-open in an hour", s, q, 0)
		r.expectBetween("Remaining before Since", g.Remaining, long-time.Since(begin)-longTolerance, long+tolerance)
	}
	q.Since = q.Since.Add(-time.Minute - long)
	q.Want = q.Budget
	r.expectGranted("half-open, after a request before Since", r.Store, q, q.Budget)
}

// probeRemaining uses circuits that have been half-open for long, with long and short periods.
func probeRemaining(r *fixture) {
	for i, tt := range []struct{ since, every, low, high time.Duration }{
		{time.Minute, long, long - time.Minute - longTolerance, long - time.Minute + tolerance},
		{50 * long, 3 * long, long - longTolerance, long + tolerance},
		{10 * 365 * 24 * time.Hour, time.Second, 0, time.Second},
		{30 * 24 * time.Hour, 10 * time.Millisecond, 0, 10 * time.Millisecond},
		{90 * time.Minute, 7*time.Hour + 3*time.Microsecond, 5*time.Hour + 30*time.Minute - longTolerance, 5*time.Hour + 30*time.Minute + tolerance},
	} {
		q := r.halfOpen(i)
		q.Since, q.Every = q.Since.Add(time.Minute-tt.since), tt.every
		begin := time.Now()
		g := r.expectGranted(fmt.Sprintf("half-open for %v, Every %v", tt.since, tt.every), r.Store, q, 1)
		low := tt.low
		if low > 0 {
			low -= time.Since(begin)
		}
		r.expectBetween(fmt.Sprintf("Remaining, half-open for %v, Every %v", tt.since, tt.every), g.Remaining, low, tt.high)
	}
}

func probeWantsMore(r *fixture) {
	q := r.halfOpen(1)
	q.Want = 25
	g := r.expectGranted("first request", r.Store, q, 10)
	r.expectBetween("Remaining after the whole budget was granted", g.Remaining, 1, long-time.Minute+tolerance)
	g = r.expectGranted("second request", r.Handle(), q, 0)
	r.expectBetween("Remaining after the budget was used up", g.Remaining, 1, long-time.Minute+tolerance)
	q = r.halfOpen(2)
	q.Want = 7
	r.expectGranted("first request", r.Store, q, 7)
	r.expectGranted("second request", r.Handle(), q, 3)
	r.expectGranted("third request", r.Store, q, 0)
}

func probeWantsNone(r *fixture) {
	q := r.halfOpen(1)
	q.Want = 0
	g := r.expectGranted("request with Want 0", r.Store, q, 0)
	r.expectBetween("Remaining of a request with Want 0", g.Remaining, 1, long-time.Minute+tolerance)
	q.Want = 10
	r.expectGranted("request for the whole budget, after a request with Want 0", r.Store, q, 10)
	q.Want, q.Budget, q.Generation = 1, 0, 2
	r.expectGranted("request with Budget 0", r.Store, q, 0)
}

// probeBudgetChanges changes the budget between requests, as managers with different configurations
// do.
func probeBudgetChanges(r *fixture) {
	q := r.halfOpen(1)
	for i, tt := range []struct{ budget, want, granted int }{
		{10, 5, 5},
		{3, 2, 0},  // fewer than used
		{5, 2, 0},  // as many as used
		{6, 2, 1},  // one more than used
		{4, 1, 0},  // used probes stay used
		{12, 3, 3}, // 9 are used now
		{12, 9, 3},
		{12, 1, 0},
	} {
		q.Budget, q.Want = tt.budget, tt.want
		r.expectGranted(fmt.Sprintf("request %d", i), r.Store, q, tt.granted)
	}
}

func probeGenerations(r *fixture) {
	q := r.halfOpen(1)
	q.Want = q.Budget
	other := r.Handle()
	for _, q.Generation = range []uint64{1, 1<<32 + 1, 2, 1 << 31, 1 << 40} {
		r.expectGranted(fmt.Sprintf("generation %d", q.Generation), r.Store, q, q.Budget)
		r.expectGranted(fmt.Sprintf("generation %d again", q.Generation), other, q, 0)
	}
}

func probeRecords(r *fixture) {
	a, b := r.halfOpen(1), r.halfOpen(1)
	b.ID[len(b.ID)-1] ^= 0xff
	a.Want, b.Want = a.Budget, b.Budget
	r.expectGranted("record a", r.Store, a, a.Budget)
	r.expectGranted("record b, whose ID differs in the last byte", r.Store, b, b.Budget)
	r.expectGranted("record a again", r.Store, a, 0)
	for _, first := range []byte{0x00, 0x01, 0x80, 0xff} {
		c := r.halfOpen(0)
		c.ID[0], c.ID[15] = first, 0xff^first
		c.Want = c.Budget
		r.expectGranted(fmt.Sprintf("record %x", c.ID), r.Store, c, c.Budget)
		r.expectGranted(fmt.Sprintf("record %x again", c.ID), r.Store, c, 0)
	}
}

func probeOrder(r *fixture) {
	base := r.halfOpen(0)
	var requests []store.ProbeRequest
	for _, n := range []int{9, 2, 7, 0, 5, 1, 8, 3} {
		q := base
		q.ID, q.Want = idIn(n*7, n), n
		requests = append(requests, q)
	}
	for i, g := range r.probes(r.Store, requests...) {
		if want := requests[i].Want; g.Granted != want {
			r.Errorf("grant %d: got %d granted, want %d: grants must be in the order of the requests", i, g.Granted, want)
		}
	}
}

func probeMany(r *fixture) {
	const many = 1000
	base := r.halfOpen(0)
	requests := make([]store.ProbeRequest, many)
	for i := range requests {
		requests[i] = base
		requests[i].ID, requests[i].Budget, requests[i].Want = idIn(i%store.NumShards, i), 1+i%7, i%11
	}
	for i, g := range r.probes(r.Store, requests...) {
		if want := min(requests[i].Budget, requests[i].Want); g.Granted != want {
			r.Errorf("request %d of %d with Budget %d and Want %d: got %d granted, want %d", i, many, requests[i].Budget, requests[i].Want, g.Granted, want)
		}
	}
	for i, g := range r.probes(r.Handle(), requests...) {
		want := min(requests[i].Want, requests[i].Budget-min(requests[i].Budget, requests[i].Want))
		if g.Granted != want {
			r.Errorf("request %d of %d, made again: got %d granted, want %d", i, many, g.Granted, want)
		}
	}
}

func probeNone(r *fixture) {
	for _, none := range [][]store.ProbeRequest{nil, {}} {
		r.probes(r.Store, none...) // which expects no grants
	}
}

func probeTwice(r *fixture) {
	q := r.halfOpen(1)
	q.Want = 6
	grants := r.probes(r.Store, q, r.halfOpen(2), q)
	if sum := grants[0].Granted + grants[2].Granted; sum != q.Budget {
		r.Errorf("two requests for one record in one call, each with Want 6 and Budget 10: got %d and %d granted, want 10 in total", grants[0].Granted, grants[2].Granted)
	}
	r.expectGranted("the same record again", r.Store, q, 0)
}

func probeChangesNoShard(r *fixture) {
	v := r.write(r.Store, 1, put(1, 1, "x"))
	q := r.halfOpen(1)
	r.expectGranted("a stored record", r.Store, q, 1)
	r.expectVersion(r.Store, 1, v)
	r.expectRecords(r.shard(r.Store, 1), texts(1, map[int]string{1: "x"}))
	r.expectGranted("a record that is not stored", r.Store, r.halfOpen(2), 1)
	r.expectVersion(r.Store, 2, store.Version{})
	r.expectRecords(r.shard(r.Store, 2), nil)
}
