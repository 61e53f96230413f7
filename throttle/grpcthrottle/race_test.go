//go:build race

package grpcthrottle_test

// raceEnabled says that the race detector is watching.
const raceEnabled = true
