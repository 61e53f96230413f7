package main

import (
	"syscall"
	"time"
)

// What switches counts for: the calling thread or the whole process.
const (
	ofThread  = syscall.RUSAGE_THREAD
	ofProcess = syscall.RUSAGE_SELF
)

// switches returns the number of involuntary context switches of the calling thread or of the process.
func switches(who int) int64 { return int64(usage(who).Nivcsw) }

// processorTime returns the CPU time of this process so far, in user mode and in the kernel.
func processorTime() time.Duration {
	u := usage(ofProcess)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func usage(who int) (u syscall.Rusage) {
	_ = syscall.Getrusage(who, &u) // the zero usage if it fails
	return u
}
