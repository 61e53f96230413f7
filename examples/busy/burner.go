package main

import (
	"sync/atomic"
	"time"
)

// burner uses processor time, with a loop that neither blocks nor allocates.
type burner struct {
	rounds int           // of the loop, for each call
	sink   atomic.Uint64 // keeps the compiler from removing the loop
}

func (b *burner) burn() {
	x := uint64(b.rounds) | 1
	for range b.rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	b.sink.Store(x)
}

// calibrate returns how many rounds of the loop take d. It keeps the quickest of several tries, which
// is one that no other program has interrupted.
func calibrate(d time.Duration) int {
	trial := burner{rounds: 1_000_000}
	quickest := time.Duration(1 << 62)
	for range 20 {
		begin := time.Now()
		trial.burn()
		quickest = min(quickest, time.Since(begin))
	}
	return max(1, int(float64(trial.rounds)*d.Seconds()/max(quickest, 1).Seconds()))
}
