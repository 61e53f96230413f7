package main

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// burner uses up processor time with a loop that neither blocks nor allocates.
type burner struct {
	perMillisecond float64 // rounds of the loop
	sink           atomic.Uint64
}

// calibrate returns how many rounds a millisecond of processor time has. It reads the processor time
// of this process, so neighbours on the same processor do not matter.
func calibrate() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const rounds = 2_000_000
	var b burner
	best := 0.0
	for range 15 {
		before := processorTime()
		b.spin(rounds)
		if took := processorTime() - before; took > 0 {
			best = max(best, rounds/(took.Seconds()*1e3))
		}
	}
	return best
}

func (b *burner) burn(d time.Duration) { b.spin(int(b.perMillisecond * d.Seconds() * 1e3)) }

func (b *burner) burnForever() {
	for {
		b.spin(1 << 20)
	}
}

func (b *burner) spin(rounds int) {
	x := uint64(rounds) | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	b.sink.Store(x)
}

// processorTime returns the processor time of this process so far, in user mode and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
