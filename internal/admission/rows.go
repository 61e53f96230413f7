package main

import (
	"fmt"
	"slices"
	"time"
)

// allRows returns the rows of issues 37, 41 and 44.
func allRows() []row {
	return slices.Concat(loadRows(), serverRows(), waitRows(), otherWorkRows())
}

// steady returns a row with a constant load: 8 s after a warm-up of 3 s.
func steady(name string, rate float64, bounds ...bound) row {
	return row{
		name: name, rate: rate, bounds: bounds, shape: plain(), subjects: []string{subjectOurs},
		warm: 3 * time.Second, length: 8 * time.Second,
	}
}

func (r row) lasts(warm, length time.Duration) row {
	r.warm, r.length = warm, length
	return r
}

func (r row) on(change func(*shape)) row {
	change(&r.shape)
	return r
}

func (r row) by(subjects ...string) row {
	r.subjects = subjects
	return r
}

// from sends the load from clients of ours.
func (r row) from(clients int, listens bool) row {
	r.clients, r.listens = clients, listens
	return r
}

// of says whether the rate and the good answers refer to what the server could do if it were alone.
func (r row) of(rateOfAll, goodOfAll bool) row {
	r.rateOfAll, r.goodOfAll = rateOfAll, goodOfAll
	return r
}

func (r row) withTenants(highShare float64) row {
	r.tenants, r.highShare = true, highShare
	return r.by(subjectUnfair, subjectOurs)
}

// during sends phases, whose rates are multiples of the capacity.
func (r row) during(phases ...phase) row {
	r.phases = func(capacity float64) []phase {
		all := slices.Clone(phases)
		for i := range all {
			all[i].rate *= capacity
		}
		return all
	}
	return r
}

// loadRows have the usual server, and other loads.
func loadRows() []row {
	const second, step = time.Second, 10 * time.Second
	return []row{
		steady("0.5x", 0.5, shedAtMost(0), highNeverShed()).lasts(0, time.Minute),
		steady("0.8x", 0.8, shedAtMost(0.5), highNeverShed()).lasts(0, time.Minute),
		steady("1.5x", 1.5, goodAtLeast(93), highAtLeast(99.5), importantAtLeast(99.5)),
		steady("3x", 3, goodAtLeast(93), highAtLeast(99.5), importantAtLeast(85), p99AtMost(150*time.Millisecond)).
			by(subjectOurs, subjectNone, subjectGoZero, subjectAegis, subjectFailsafe),
		steady("6x", 6, goodAtLeast(90), highAtLeast(98)),
		steady("10x", 10, goodAtLeast(85)),
		steady("10x, our client", 10, goodAtLeast(93), highAtLeast(97)).from(1, false),
		steady("10x, 100 of our clients", 10, goodAtLeast(90), highAtLeast(93)).from(100, false),
		steady("10x, 100 of our clients, listening", 10, goodAtLeast(92), highAtLeast(97)).from(100, true),
		steady("start, 3x", 3, highFromStart(80, 3*second)).lasts(0, 3*second),
		steady("steps 0.5x, 3x, 0.5x", 0, servedInSecond(11, 80), servedInSecond(21, 80), nothingShedFrom(22*second)).
			lasts(0, 3*step).during(phase{length: step, rate: 0.5}, phase{length: step, rate: 3}, phase{length: step, rate: 0.5}),
		steady("bursts of 200, mean 0.3x", 0, highAtLeast(100), burstShedAtMost(30)).lasts(0, 20*second).
			during(slices.Repeat([]phase{{length: 5 * second, rate: 0.1, burst: 200}}, 4)...), // 0.1x between the bursts
		steady("99 tenants 0.6x, one 5.4x", 6, modestAtLeast(97)).withTenants(0),
		steady("99 tenants 0.6x, one 5.4x, 10 % High", 6, highAtLeast(99)).withTenants(0.1),
	}
}

// serverRows have other servers: more work or memory per request, another protocol.
func serverRows() []row {
	work := func(name string, d time.Duration) row {
		return steady(name, 3, goodAtLeast(88), highAtLeast(97)).on(func(s *shape) { s.Work = d })
	}
	speaking := func(name, protocol string, connections int) row {
		return steady(name, 3, goodAtLeast(88), highAtLeast(98)).
			on(func(s *shape) { s.Protocol, s.Connections = protocol, connections })
	}
	return []row{
		work("handler 1ms, 3x", time.Millisecond),
		work("handler 20ms, 3x", 20*time.Millisecond),
		work("handler 50ms, 3x", 50*time.Millisecond),
		steady("GOMAXPROCS 2, load on the same cores, 3x", 3, goodAtLeast(80), highAtLeast(99)).on(func(s *shape) { s.Procs = 2 }),
		speaking("HTTP/2, 1 connection, 3x", protocolHTTP2, 1),
		speaking("gRPC, 1 connection, 3x", protocolGRPC, 1),
		speaking("gRPC, 50 connections, 3x", protocolGRPC, 50),
		speaking("Connect, 3x", protocolConnect, 0),
		steady("4 MB per request, heap 2 GB, 0.7x", 0.7, shedAtMost(0.5)).
			on(func(s *shape) { s.Allocates, s.Heap = 4<<20, 2<<30 }),
	}
}

// waitRows have requests that wait for something in the server: a full pool, a lock. Nothing is set for that.
func waitRows() []row {
	const calm, full = 20 * time.Second, 20 * time.Second
	waits := func(wait time.Duration, slots int) func(*shape) {
		return func(s *shape) { s.Waits, s.Slots, s.Work = wait, slots, 0 }
	}
	pool, lock := waits(50*time.Millisecond, 10), waits(5*time.Millisecond, 1)
	at := func(name string, warm time.Duration, bounds ...bound) row {
		return steady(name, 3, bounds...).lasts(warm, full).during(phase{length: warm, rate: 0.5}, phase{length: full, rate: 3})
	}
	slowly := func(s *shape) { s.Waits, s.Slowdown, s.Work = 50*time.Millisecond, calm, 0 }
	return []row{
		at("pool of 10, 3x", calm, goodAtLeast(92), highAtLeast(95), importantAtLeast(90)).on(pool).
			by(subjectOurs, subjectNone, subjectFailsafe),
		steady("pool of 10, 6x", 6, goodAtLeast(88), highAtLeast(95)).on(pool),
		at("pool of 10, start, 3x", 0, goodAtLeast(80), highAtLeast(85)).on(pool),
		at("lock of 5ms, 3x", calm, goodAtLeast(88), highAtLeast(95)).on(lock),
		at("lock of 5ms, start, 3x", 0, goodAtLeast(75), highAtLeast(85)).on(lock),
		steady("ten times as slow, not full, 0.5x", 0.5, shedAtMost(1)).on(slowly).lasts(calm, time.Minute).of(true, true),
	}
}

// otherWorkRows have work that is not requests, or requests that do not work. Without protection the queue
// grows for some seconds beside goroutines that never rest.
func otherWorkRows() []row {
	rows := []row{steady("mixed: low waits 100 ms outside, 3x", 3, goodAtLeast(90), highAtLeast(98)).of(true, true).
		on(func(s *shape) { s.LowWaits = 100 * time.Millisecond })}
	for _, n := range []int{1, 4} {
		name := fmt.Sprintf("%dx GOMAXPROCS never rest", n)
		busy := func(r row) row {
			return r.on(func(s *shape) { s.Background = n }).lasts(5*time.Second, r.length).by(subjectNone, subjectOurs)
		}
		rows = append(rows,
			busy(steady(name+", 0.3x of all", 0.3, timesNone(0.98)).of(true, true)),
			busy(steady(name+", 3x of the rest", 3, timesNone(2), highAtLeast(90))))
	}
	beside := func(s *shape) { s.Neighbour = true }
	return append(rows,
		steady("neighbour process, 0.3x of all", 0.3, shedAtMost(1)).of(true, true).on(beside),
		steady("neighbour process, 1.5x of all", 1.5, goodAtLeast(80)).of(true, false).on(beside))
}

// row is a line of the table of issue 37: a server, a load and what is required of our protection.
type row struct {
	name     string
	shape    shape
	subjects []string
	bounds   []bound

	rate    float64                        // times the capacity, for a steady load
	phases  func(capacity float64) []phase // for any other load
	warm    time.Duration                  // of a load; not measured
	length  time.Duration                  // measured
	clients int                            // HTTP clients of ours, each with a throttle of its own; 0: one bare client
	listens bool                           // these clients read load reports

	tenants   bool    // see crowd
	highShare float64 // of the requests of tenants

	rateOfAll bool // the rate is a multiple of what the server could serve if it were alone, not of what remains
	goodOfAll bool // good answers are a share of that, too
}

func (r row) load(capacity float64) []phase {
	if r.phases != nil {
		return r.phases(capacity)
	}
	return []phase{{length: r.warm + r.length, rate: r.rate * capacity}}
}

// withLength returns the row with another measured time, if its load is steady.
func (r row) withLength(length time.Duration) row {
	if length > 0 && r.phases == nil {
		r.length = length
	}
	return r
}
