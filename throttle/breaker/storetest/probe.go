package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	kit "github.com/spillway-go/spillway/throttle/internal/storetest"
)

func probeCases() []testCase {
	whole, one := asks(10), asks(1)
	return []testCase{
		{"none before Since", probeCase(one.since(-long), one.since(-long).by(1), whole)},
		{"Remaining is the time to the next period", probeCase(one, one.of(2).since(50*long).every(3*long),
			one.of(3).since(10*365*24*time.Hour).every(time.Second), one.of(4).since(30*24*time.Hour).every(10*time.Millisecond),
			one.of(5).since(90*time.Minute).every(7*time.Hour+3*time.Microsecond))},
		{"more than the budget", probeCase(asks(25), asks(25).by(1), asks(7).of(2), asks(7).of(2).by(1), asks(7).of(2))},
		{"none wanted", probeCase(asks(0), whole, one.in(2).within(0))},
		{"budget changes at run time", probeCase(asks(5), asks(2).within(3), asks(2).within(5), asks(2).within(6), one.within(4),
			asks(3).within(12), asks(9).within(12), one.within(12))},
		{"each generation has its own budget", probeCase(eachTwice(whole.in(1), whole.in(1<<32+1), whole.in(2), whole.in(1<<31), whole.in(1<<40))...)},
		{"each record has its own budget", probeCase(eachTwice(similarRecords()...)...)},
		{"grants are in the order of 1,000 requests", probeMany},
		{"no requests", func(r *fixture) {
			r.probes(r.Store) // which expects no grants
			r.probes(r.Store, []store.ProbeRequest{}...)
		}},
		{"the same record twice in one call", func(r *fixture) {
			m := newProbeModel(r)
			m.probe(r.Store, asks(6), one.of(2), asks(6))
			m.probe(r.Store, asks(6))
		}},
		{"changes no shard", probeChangesNoShard},
	}
}

// ask is a request for probes of a circuit.
type ask struct {
	store.ProbeRequest // except for Since

	halfOpen time.Duration // for how long the circuit has been half-open
	handle   int
}

// asks is a request for probes of the first record, which has been half-open for a minute, with a budget of 10 an hour.
func asks(want int) ask {
	return ask{
		ProbeRequest: store.ProbeRequest{ID: idIn(1, 1), Generation: 1, Every: long, Budget: 10, Want: want},
		halfOpen:     time.Minute,
	}
}

func (a ask) of(n int) ask                   { a.ID = idIn(n%store.NumShards, n); return a }
func (a ask) in(generation uint64) ask       { a.Generation = generation; return a }
func (a ask) within(budget int) ask          { a.Budget = budget; return a }
func (a ask) since(d time.Duration) ask      { a.halfOpen = d; return a }
func (a ask) every(period time.Duration) ask { a.Every = period; return a }
func (a ask) by(handle int) ask              { a.handle = handle; return a }

// eachTwice repeats each request with another handle.
func eachTwice(all ...ask) []ask {
	var script []ask
	for _, a := range all {
		script = append(script, a, a.by(1))
	}
	return script
}

// probeCase returns a case that makes one request after the other. A probeModel checks all answers.
func probeCase(script ...ask) func(*fixture) {
	return func(r *fixture) {
		r.Helper()
		m, handles := newProbeModel(r), []store.Store{r.Store, r.Handle()}
		for _, a := range script {
			m.probe(handles[a.handle], a)
		}
	}
}

// probeModel is what a store must have of its probes.
type probeModel struct {
	*fixture

	begun time.Time // local time, before now was read
	now   time.Time // the store's
	used  map[budgetKey]int
}

type budgetKey struct {
	id         store.RecordID
	generation uint64
}

func newProbeModel(r *fixture) *probeModel {
	m := &probeModel{fixture: r, begun: time.Now(), used: map[budgetKey]int{}}
	m.now = r.versions(r.Store).Now.Truncate(time.Microsecond)
	return m
}

// request returns the request that a store gets.
func (m *probeModel) request(a ask) store.ProbeRequest {
	a.Since = m.now.Add(-a.halfOpen)
	return a.ProbeRequest
}

// probe calls Probe, and expects the answers that the rules of [store.Store] demand. Requests for one
// record may share a budget in any way.
func (m *probeModel) probe(s store.Store, all ...ask) {
	m.Helper()
	requests := make([]store.ProbeRequest, len(all))
	for i, a := range all {
		requests[i] = m.request(a)
	}
	wanted, granted := map[budgetKey]int{}, map[budgetKey]int{}
	for i, g := range m.probes(s, requests...) {
		k := budgetKey{requests[i].ID, requests[i].Generation}
		granted[k] += g.Granted
		if all[i].halfOpen >= 0 {
			wanted[k] = min(wanted[k]+max(0, requests[i].Want), max(0, requests[i].Budget-m.used[k]))
		}
		low, high := all[i].remaining(time.Since(m.begun))
		m.expectBetween(fmt.Sprintf("Remaining, half-open for %v, Every %v", all[i].halfOpen, all[i].Every), g.Remaining, low, high)
	}
	for k, want := range wanted {
		if granted[k] != want {
			m.Fatalf("Probe of record %x, generation %d, of which %d probes were used: got %d granted, want %d", k.id, k.generation, m.used[k], granted[k], want)
		}
	}
	for k, n := range granted {
		if m.used[k] += n; wanted[k] < n {
			m.Fatalf("Probe of record %x, before Since: got %d granted, want none", k.id, n)
		}
	}
}

// remaining returns the limits of Remaining, if a request was answered some time after the model was made.
func (a ask) remaining(elapsed time.Duration) (low, high time.Duration) {
	from, to := a.halfOpen, a.halfOpen+elapsed
	switch {
	case to < 0:
		return -to - longTolerance, -from + tolerance
	case from/a.Every != to/a.Every:
		return 0, a.Every
	}
	return max(0, a.Every-to%a.Every-longTolerance), min(a.Every, a.Every-from%a.Every+tolerance)
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

// similarRecords are requests for records whose IDs differ in few bytes.
func similarRecords() []ask {
	last := asks(10)
	last.ID[len(last.ID)-1] ^= 0xff
	all := []ask{asks(10), last}
	for _, first := range []byte{0x00, 0x01, 0x80, 0xff} {
		a := asks(10).of(0)
		a.ID[0], a.ID[15] = first, 0xff^first
		all = append(all, a)
	}
	return all
}

func probeMany(r *fixture) {
	all := make([]ask, 1000)
	for i := range all {
		all[i] = asks(i % 11).of(i).within(1 + i%7)
	}
	m := newProbeModel(r)
	m.probe(r.Store, all...)
	m.probe(r.Handle(), all...)
}

func probeChangesNoShard(r *fixture) {
	m, probes := newShards(r), newProbeModel(r)
	m.apply(r.Store, puts("x"))
	probes.probe(r.Store, asks(1))       // of a stored record
	probes.probe(r.Store, asks(1).of(2)) // of one that is not stored
	m.expect(r.Store, home, 2)
}

func budgetCases() []testCase {
	behind, ahead := asks(10), asks(10).in(2)
	return []testCase{
		{"is exact", func(r *fixture) { r.exactBudget(32, 8, 1, 100) }},
		// In some databases this causes deadlocks.
		{"is exact for calls in any order", func(r *fixture) { r.exactBudget(8, 6, 40, 10) }},
		{"renews every period", budgetRenews},
		// A manager that is behind must not reset the budget of the current generation.
		{"survives requests of an older generation", probeCase(behind.by(1), ahead, behind.by(1), ahead)},
	}
}

// exactBudget makes concurrent calls for more probes than the budget of each record. Each call has all
// records in another order.
func (r *fixture) exactBudget(workers, calls, records, budget int) {
	r.Helper()
	m, stores, granted := newProbeModel(r), r.Handles(4), make([]atomic.Int64, records)
	r.Together(workers, func(i int) error {
		random := rand.New(rand.NewPCG(8, uint64(i)))
		for call := range calls {
			order, requests := random.Perm(records), make([]store.ProbeRequest, records)
			for j, n := range order {
				requests[j] = m.request(asks(1 + (i+call+n)%3).of(n).within(budget))
			}
			grants, err := r.tryProbes(stores[i%len(stores)], requests...)
			if err != nil {
				return fmt.Errorf("call of Probe of %d records, in another order than concurrent calls: got error %w, want none", records, err)
			}
			for j, n := range order {
				granted[n].Add(int64(grants[j].Granted))
			}
		}
		return nil
	})
	for n := range granted {
		if got := granted[n].Load(); got != int64(budget) {
			r.Errorf("record %d: got %d granted by concurrent calls, want exactly the budget, %d", n, got, budget)
		}
	}
}

// budgetRenews makes requests until several budgets were used up. Let an answer arrive before
// the Remaining of an earlier one is over, counted from the request of the earlier one. Then both
// are in the same period, even on a slow machine.
func budgetRenews(r *fixture) {
	const every, budget, periods = 50 * time.Millisecond, 5, 4
	stores := append(r.Handles(2), r.Store)
	q := newProbeModel(r).request(asks(1).within(budget).every(every))
	var end time.Time // earliest end of the period
	inPeriod, total, calls := 0, 0, 0
	r.until(fmt.Sprintf("a budget of %d every %v was not granted %d times, want a new budget in each period", budget, every, periods), func() bool {
		asked := time.Now()
		g := r.probes(stores[calls%len(stores)], q)[0]
		calls++
		r.expectBetween("Remaining of a budget every "+every.String(), g.Remaining, 0, every)
		if answered := time.Now(); !answered.Before(end.Add(-tolerance)) {
			end, inPeriod = asked.Add(g.Remaining), 0
		}
		inPeriod += g.Granted
		total += g.Granted
		if inPeriod > budget {
			r.Fatalf("Budget %d, Every %v: got %d granted in one period, want at most the budget", budget, every, inPeriod)
		}
		return total >= periods*budget
	})
}
