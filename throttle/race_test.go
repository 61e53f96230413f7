//go:build race

package throttle_test

// raceEnabled says that the race detector is watching.
const raceEnabled = true
