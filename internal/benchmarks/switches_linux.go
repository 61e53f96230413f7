package main

import "syscall"

// What switches counts for: the calling thread or the whole process.
const (
	ofThread  = syscall.RUSAGE_THREAD
	ofProcess = syscall.RUSAGE_SELF
)

// switches returns the number of involuntary context switches of the calling thread or of the process.
func switches(who int) int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(who, &usage) != nil {
		return 0
	}
	return int64(usage.Nivcsw)
}
