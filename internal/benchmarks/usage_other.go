//go:build !linux

package main

import "time"

// What switches counts for: the calling thread or the whole process.
const (
	ofThread = iota
	ofProcess
)

// switches returns 0: only Linux reports it for a thread. So every slice is kept here.
func switches(int) int64 { return 0 }

// processorTime returns 0, and the column of its costs is empty.
func processorTime() time.Duration { return 0 }
