//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process so far, in user mode and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
