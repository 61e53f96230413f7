//go:build !linux

package main

// Whose switches are counted.
const (
	ofThread = iota
	ofProcess
)

// switches is only known on Linux. Elsewhere no slice is thrown away, and the medians must do.
func switches(int) int64 { return 0 }
