//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is how long this process has had processors so far, its own work and the system's for it.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
