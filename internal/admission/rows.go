package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/throttle"
)

// The times of most rows.
const (
	warmUp  = 3 * time.Second
	measure = 8 * time.Second
)

// allRows returns the rows in the order of issue 37, and those of issues 41 and 44.
func allRows() []row {
	return slices.Concat(calmRows(), overloadRows(), workRows(), changingRows(), protocolRows(), waitRows(), otherWorkRows(), memoryRows(), tenantRows())
}

func steady(name string, rate float64, bounds ...bound) row {
	return row{name: name, shape: plain(), subjects: []string{subjectOurs}, bounds: bounds, rate: rate, warm: warmUp, length: measure}
}

func (r row) on(change func(*shape)) row {
	change(&r.shape)
	return r
}

// calmRows are measured from the first second on.
func calmRows() []row {
	rows := []row{
		steady("0.5x", 0.5, shedAtMost(0), highNeverShed()),
		steady("0.8x", 0.8, shedAtMost(0.5), highNeverShed()),
	}
	for i := range rows {
		rows[i].warm, rows[i].length = 0, time.Minute
	}
	return rows
}

func overloadRows() []row {
	three := steady("3x", 3, goodAtLeast(93), highAtLeast(99.5), successAtLeast(throttle.Important, 85), p99AtMost(150*time.Millisecond))
	three.subjects = []string{subjectOurs, subjectNone, subjectGoZero, subjectAegis, subjectFailsafe}
	oneClient := steady("10x, our client", 10, goodAtLeast(93), highAtLeast(97))
	oneClient.clients = 1
	hundred := steady("10x, 100 of our clients", 10, goodAtLeast(90), highAtLeast(93))
	hundred.clients = 100
	listening := hundred
	listening.name, listening.listens = "10x, 100 of our clients, listening", true
	listening.bounds = []bound{goodAtLeast(92), highAtLeast(97)}
	return []row{
		steady("1.5x", 1.5, goodAtLeast(93), highAtLeast(99.5), successAtLeast(throttle.Important, 99.5)),
		three,
		steady("6x", 6, goodAtLeast(90), highAtLeast(98)),
		steady("10x", 10, goodAtLeast(85)),
		oneClient,
		hundred,
		listening,
	}
}

// workRows have other work per request.
func workRows() (rows []row) {
	for _, work := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		rows = append(rows, steady(fmt.Sprintf("handler %v, 3x", work), 3, goodAtLeast(88), highAtLeast(97)).
			on(func(s *shape) { s.Work = work }))
	}
	return rows
}

// changingRows have a load that is not steady, or look at its beginning.
func changingRows() []row {
	start := steady("start, 3x", 3, highFromStart(80, 3*time.Second))
	start.warm, start.length = 0, 3*time.Second
	const step, up, down = 10 * time.Second, 10, 20
	steps := steady("steps 0.5x, 3x, 0.5x", 0, servedInSecond(up+1, 80), servedInSecond(down+1, 80), nothingShedFrom((down+2)*time.Second))
	steps.warm, steps.length = 0, 3*step
	steps.phases = func(capacity float64) []phase {
		return []phase{{length: step, rate: capacity / 2}, {length: step, rate: 3 * capacity}, {length: step, rate: capacity / 2}}
	}
	return []row{start, steps, burstRow()}
}

// burstRow has 0.1x between the bursts, which makes a mean of 0.3x.
func burstRow() row {
	bursts := steady("bursts of 200, mean 0.3x", 0, highAtLeast(100), burstShedAtMost(30))
	bursts.warm, bursts.length = 0, 20*time.Second
	bursts.phases = func(capacity float64) []phase {
		return slices.Repeat([]phase{{length: 5 * time.Second, rate: capacity / 10, burst: 200}}, 4)
	}
	return bursts
}

func protocolRows() []row {
	atThree := func(name string, change func(*shape)) row {
		return steady(name+", 3x", 3, goodAtLeast(88), highAtLeast(98)).on(change)
	}
	two := steady("GOMAXPROCS 2, load on the same cores, 3x", 3, goodAtLeast(80), highAtLeast(99))
	return []row{
		two.on(func(s *shape) { s.Procs = 2 }),
		atThree("HTTP/2, 1 connection", func(s *shape) { s.Protocol, s.Connections = protocolHTTP2, 1 }),
		atThree("gRPC, 1 connection", func(s *shape) { s.Protocol, s.Connections = protocolGRPC, 1 }),
		atThree("gRPC, 50 connections", func(s *shape) { s.Protocol, s.Connections = protocolGRPC, 50 }),
		atThree("Connect", func(s *shape) { s.Protocol = protocolConnect }),
	}
}

// waitRows have requests that wait for something in the server: a full pool, a lock. Nothing is set for that.
func waitRows() []row {
	const calm, full = 20 * time.Second, 20 * time.Second
	pool := func(s *shape) { s.Waits, s.Slots, s.Work = 50*time.Millisecond, 10, 0 }
	lock := func(s *shape) { s.Waits, s.Slots, s.Work = 5*time.Millisecond, 1, 0 }
	at := func(name string, rate float64, warm time.Duration, change func(*shape), bounds ...bound) row {
		r := steady(name, rate, bounds...).on(change)
		r.warm, r.length = warm, full
		r.phases = func(capacity float64) []phase {
			return []phase{{length: warm, rate: capacity / 2}, {length: full, rate: rate * capacity}}
		}
		return r
	}
	slower := at("ten times as slow, not full, 0.5x", 0.5, calm, func(s *shape) {
		s.Waits, s.Slowdown, s.Work = 50*time.Millisecond, calm, 0
	}, shedAtMost(1))
	slower.length, slower.rateOfAll, slower.goodOfAll = time.Minute, true, true
	slower.phases = nil
	six := steady("pool of 10, 6x", 6, goodAtLeast(88), highAtLeast(95)).on(pool)
	three := at("pool of 10, 3x", 3, calm, pool, goodAtLeast(92), highAtLeast(95), successAtLeast(throttle.Important, 90))
	three.subjects = []string{subjectOurs, subjectNone, subjectFailsafe}
	return []row{
		three,
		six,
		at("pool of 10, start, 3x", 3, 0, pool, goodAtLeast(80), highAtLeast(85)),
		at("lock of 5ms, 3x", 3, calm, lock, goodAtLeast(88), highAtLeast(95)),
		at("lock of 5ms, start, 3x", 3, 0, lock, goodAtLeast(75), highAtLeast(85)),
		slower,
	}
}

// otherWorkRows have work that is not requests, or requests that do not work.
func otherWorkRows() []row {
	mixed := steady("mixed: low waits 100 ms outside, 3x", 3, goodAtLeast(90), highAtLeast(98))
	mixed.rateOfAll, mixed.goodOfAll = true, true
	rows := []row{mixed.on(func(s *shape) { s.LowWaits = 100 * time.Millisecond })}
	for _, n := range []int{1, 4} {
		busy := func(s *shape) { s.Background = n }
		few := steady(fmt.Sprintf("%dx GOMAXPROCS never rest, 0.3x of all", n), 0.3, timesNone(0.98)).on(busy)
		few.rateOfAll, few.goodOfAll = true, true
		many := steady(fmt.Sprintf("%dx GOMAXPROCS never rest, 3x of the rest", n), 3, timesNone(2), highAtLeast(90)).on(busy)
		few.warm, many.warm = 5*time.Second, 5*time.Second // without protection the queue grows for some seconds
		few.subjects, many.subjects = []string{subjectNone, subjectOurs}, []string{subjectNone, subjectOurs}
		rows = append(rows, few, many)
	}
	calm := steady("neighbour process, 0.3x of all", 0.3, shedAtMost(1))
	calm.goodOfAll = true
	full := steady("neighbour process, 1.5x of all", 1.5, goodAtLeast(80))
	for _, r := range []row{calm, full} {
		r.rateOfAll = true
		rows = append(rows, r.on(func(s *shape) { s.Neighbour = true }))
	}
	return rows
}

func memoryRows() []row {
	return []row{steady("4 MB per request, heap 2 GB, 0.7x", 0.7, shedAtMost(0.5)).
		on(func(s *shape) { s.Allocates, s.Heap = 4<<20, 2<<30 })}
}
