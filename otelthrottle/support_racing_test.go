package otelthrottle_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// atRandom runs a function on a number of goroutines, each with dice of its own, and waits for them all.
func atRandom(goroutines int, seed uint64, f func(dice *rand.Rand)) {
	var work sync.WaitGroup
	for i := range goroutines {
		work.Go(func() { f(rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	work.Wait()
}

// readDuring collects, at two readers' pace, while work is done. No counter may fall, or go.
func (l *lab) readDuring(t testing.TB, counters func(snapshot) snapshot, work func()) {
	t.Helper()
	var reading sync.WaitGroup
	var over atomic.Bool
	for range 2 {
		reading.Go(func() {
			for before := l.read(t); !over.Load(); {
				now := l.read(t)
				now.wantRisen(t, counters(before))
				before = now
			}
		})
	}
	work()
	over.Store(true)
	reading.Wait()
}

// wantRisen fails the test if a counter has fallen, or gone, since before.
func (s snapshot) wantRisen(t testing.TB, before snapshot) {
	t.Helper()
	for key, value := range before {
		if got, ok := s[key]; !ok || got < value {
			t.Errorf("%s: got %v, there %v, want at least %v as before", key, got, ok, value)
		}
	}
}

// few returns how often a long test does something: all times, or some with -short.
func few(all, some int) int {
	if testing.Short() {
		return some
	}
	return all
}
